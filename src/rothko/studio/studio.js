// Swaps fragments that the server made, by their ids, and fetches parts again when an event names them.
(function () {
  "use strict";
  var secret = document.querySelector("meta[name=studio]").content;
  var view = document.body.dataset.view;
  var trusted = window.trustedTypes ? trustedTypes.createPolicy("studio", { createHTML: function (s) { return s; } }) : null;
  function parsed(text) {
    return new DOMParser().parseFromString(trusted ? trusted.createHTML(text) : text, "text/html");
  }

  // ── fragments ──────────────────────────────────────────────────────────────────────────────────
  function swap(text) {
    var held = document.activeElement, id = held && held.id, from = held && held.selectionStart, to = held && held.selectionEnd;
    var opened = Array.from(document.querySelectorAll("details[id][open]")).map(function (d) { return d.id; });
    Array.from(parsed(text).body.children).forEach(function (fresh) {
      var old = fresh.id && document.getElementById(fresh.id);
      if (!old || old.isEqualNode(fresh)) return;
      if (old.contains(held) && typing(held) && fresh.id !== "main") keep(held, fresh);
      old.replaceWith(document.adoptNode(fresh));
    });
    opened.forEach(function (one) { var d = document.getElementById(one); if (d) d.open = true; });
    tips(document);
    var again = id && document.getElementById(id);
    if (again && again !== document.activeElement) {
      again.focus({ preventScroll: true });
      try { if (from !== null) again.setSelectionRange(from, to); } catch (e) { /* numbers have no selection */ }
    }
  }
  function typing(e) { return e && /^(INPUT|TEXTAREA)$/.test(e.tagName) && !/checkbox|radio|range|file/.test(e.type); }
  function keep(held, fresh) {  // what is being written stays as it is
    var same = held.id && fresh.querySelector("#" + CSS.escape(held.id));
    if (same) same.value = held.value;
  }
  function say(words) {
    var box = document.getElementById("said"), line = document.createElement("p");
    line.className = "problem"; line.textContent = words; box.replaceChildren(line);
  }
  function post(to, body, headers) {
    document.body.classList.add("busy");
    return fetch(to, {
      method: "POST", body: body, credentials: "same-origin",
      headers: Object.assign({ "X-Rothko-Studio": secret, "X-View": view }, headers || {})
    }).then(function (r) { return r.text().then(function (t) { return [r, t]; }); }).then(function (both) {
      var r = both[0], t = both[1];
      if (r.ok || r.status === 422) swap(t); else say(t || "The studio does not answer.");
      if (r.status === 422) { document.getElementById("said").scrollIntoView({ block: "nearest" }); refresh("main"); }
      return r.ok;
    }, function () { say("The studio does not answer: it may have been ended where it was started."); return false; })
      .finally(function () { document.body.classList.remove("busy"); });
  }
  function send(form, submitter) {
    var data = new FormData(form), body = new URLSearchParams();
    data.forEach(function (value, name) { if (typeof value === "string") body.append(name, value); });
    if (submitter && submitter.name) body.append(submitter.name, submitter.value);
    return post(form.dataset.post, body);
  }
  document.addEventListener("submit", function (e) {
    if (!e.target.dataset.post) return;
    e.preventDefault();
    send(e.target, e.submitter);
  });
  document.addEventListener("change", function (e) {
    if (e.target.dataset.drop && e.target.files && e.target.files[0]) { drop(e.target.files[0], e.target.dataset.drop); return; }
    var form = e.target.form;
    if (form && form.dataset.live !== undefined) send(form);
  });
  document.addEventListener("input", function (e) {  // a slider and its number
    var other = e.target.dataset.with && document.getElementById(e.target.dataset.with);
    if (other) other.value = e.target.value;
  });
  document.addEventListener("click", function (e) {
    var copy = e.target.closest("[data-copy]");
    if (copy) { copied(copy, document.getElementById(copy.dataset.copy)); return; }
    var point = e.target.closest("[data-picks] svg a");
    if (point) { e.preventDefault(); pick(point); }
  });
  function pick(point) {
    var to = point.closest("[data-picks]").dataset.picks;
    post("/do/" + to, new URLSearchParams({ trial: point.getAttribute("href").replace("#trial-", "") }));
  }
  function copied(button, from) {
    var words = from.textContent;
    function select() { getSelection().selectAllChildren(from); button.textContent = "Selected"; }
    if (navigator.clipboard) navigator.clipboard.writeText(words).then(function () { button.textContent = "Copied"; }, select);
    else select();
  }

  // ── files that are dropped, and nodes of a tree ────────────────────────────────────────────────
  function drop(file, what) {
    say("");
    post("/drop", file, { "X-Name": encodeURIComponent(file.name), "X-For": encodeURIComponent(what) });
  }
  document.addEventListener("dragover", function (e) {
    var place = e.target.closest && e.target.closest("[data-drop],[data-under]");
    if (!place) return;
    e.preventDefault(); place.classList.add("over");
  });
  document.addEventListener("dragleave", function (e) {
    var place = e.target.closest && e.target.closest("[data-drop],[data-under]");
    if (place) place.classList.remove("over");
  });
  document.addEventListener("dragstart", function (e) {
    var node = e.target.closest && e.target.closest("[data-node]");
    if (node) e.dataTransfer.setData("text/x-rothko-node", node.dataset.node);
  });
  document.addEventListener("drop", function (e) {
    var place = e.target.closest && e.target.closest("[data-drop],[data-under]");
    if (!place) return;
    e.preventDefault(); place.classList.remove("over");
    var node = e.dataTransfer.getData("text/x-rothko-node");
    if (node && place.dataset.under !== undefined)
      post("/do/hierarchies/move", new URLSearchParams({ node: node, under: place.dataset.under, column: place.dataset.column }));
    else if (e.dataTransfer.files[0] && place.dataset.drop) drop(e.dataTransfer.files[0], place.dataset.drop);
  });

  // ── events ─────────────────────────────────────────────────────────────────────────────────────
  var wanted = new Set(), timer = null;
  function refresh(name) {
    return fetch("/part/" + view + "/" + name, { credentials: "same-origin" }).then(function (r) {
      return r.ok ? r.text().then(swap) : null;
    }, function () { return null; });
  }
  function fetchAll() {
    timer = null;
    var names = Array.from(wanted); wanted.clear();
    if (names.includes("page") || names.includes("policy")) {
      if (names.includes("policy") && !names.includes("page") && typing(document.activeElement)) names = ["bar"];
      else { refresh("main"); refresh("bar"); return; }
    }
    document.querySelectorAll("[data-part]").forEach(function (part) {
      var also = (part.dataset.also || "").split(" ");
      if (names.includes(part.dataset.part) || names.some(function (n) { return also.includes(n); })) refresh(part.dataset.part);
    });
  }
  function heard(names) {
    names.forEach(function (n) { wanted.add(n); });
    if (timer === null) timer = setTimeout(fetchAll, 40);
  }
  var lost = false, events = new EventSource("/events");
  events.onmessage = function (e) { heard(JSON.parse(e.data)); };
  events.onopen = function () {  // what was told between the page and now was told to nobody
    if (lost || document.querySelector("main .waiting, main progress")) heard(["page"]);
    if (lost) { lost = false; say(""); }
  };
  events.onerror = function () { lost = true; };

  // ── keys ───────────────────────────────────────────────────────────────────────────────────────
  document.addEventListener("keydown", function (e) {
    if ((e.ctrlKey || e.metaKey) && !e.altKey && /^[zy]$/i.test(e.key) && !typing(e.target)) {
      e.preventDefault();
      post("/do/open/" + (e.key.toLowerCase() === "y" || e.shiftKey ? "redo" : "undo"), "");
    }
    if (e.altKey && !e.ctrlKey && /^[1-8]$/.test(e.key)) {
      var link = document.querySelector('.way a[data-key="' + e.key + '"]');
      if (link) { e.preventDefault(); link.click(); }
    }
  });

  // ── what lies under a pointer ──────────────────────────────────────────────────────────────────
  var tip = document.getElementById("tip");
  function tips(where) {
    where.querySelectorAll("svg :is(rect,circle,polygon)>title").forEach(function (t) {
      t.parentNode.setAttribute("data-tip", t.textContent); t.remove();
    });
  }
  document.addEventListener("pointermove", function (e) {
    var text = e.target.getAttribute && e.target.getAttribute("data-tip");
    if (!text) { tip.className = ""; return; }
    tip.textContent = text; tip.className = "on";
    var box = tip.getBoundingClientRect(), x = e.clientX + 14, y = e.clientY + 16;
    if (x + box.width > innerWidth - 8) x = Math.max(8, e.clientX - box.width - 10);
    if (y + box.height > innerHeight - 8) y = e.clientY - box.height - 10;
    tip.style.left = x + "px"; tip.style.top = y + "px";
  });
  tips(document);
})();
