// Swaps fragments that the server made, by their ids, and fetches parts again when an event names them.
(function () {
  "use strict";
  var about = document.querySelector("meta[name=studio]"), secret = about.content;
  var view = document.body.dataset.view;
  var GONE = "The studio does not answer: it may have been ended where it was started.";
  var trusted = window.trustedTypes ? trustedTypes.createPolicy("studio", { createHTML: function (s) { return s; } }) : null;
  function parsed(text) {  // in a template, where a row may stand without its table
    text = "<template>" + text + "</template>";
    return new DOMParser().parseFromString(trusted ? trusted.createHTML(text) : text, "text/html").querySelector("template").content;
  }

  // ── fragments ──────────────────────────────────────────────────────────────────────────────────
  var first = Number(about.dataset.version), versions = new WeakMap();  // of elements that were put in since
  function version(element) {
    var found = first;
    for (; element; element = element.parentElement) found = Math.max(found, versions.get(element) || 0);
    return found;
  }
  function overtaken(old, made) {  // answers come in any order: whether this one is older than what is there
    return version(old) > made || Array.from(old.querySelectorAll("[id]")).some(function (e) { return versions.get(e) > made; });
  }
  function swap(text, made, sent) {
    var held = document.activeElement, place = where(held), caret = held && [held.selectionStart, held.selectionEnd];
    var opened = Array.from(document.querySelectorAll("details[id][open]")).map(function (d) { return d.id; });
    Array.from(parsed(text).children).forEach(function (fresh) {
      var old = fresh.id && document.getElementById(fresh.id);
      if (!old) return;
      if (fresh.id !== "said" && overtaken(old, made)) { heard([fresh.dataset.part || "page"], Infinity); return; }
      if (!old.isEqualNode(fresh)) {
        fresh = document.adoptNode(fresh);
        carry(old, fresh, sent);
        old.replaceWith(fresh);
        old = fresh;
      }
      versions.set(old, made);
    });
    opened.forEach(function (one) { var d = document.getElementById(one); if (d) d.open = true; });
    tips(document);
    if (held && !held.isConnected) returned(place, caret);
  }
  // What is being written or chosen and was not sent stays, and so does the place of the keyboard.
  function where(e) {
    if (!e || e === document.body) return "";
    if (e.id) return "#" + e.id;
    var form = e.form, key = [e.tagName, e.name || "", /checkbox|radio|submit/.test(e.type) ? e.value : "", form ? "" : e.getAttribute("href") || e.textContent];
    if (form) key.push(form.dataset.post, Array.from(form.querySelectorAll("[type=hidden]")).map(function (h) { return h.name + "=" + h.value; }).join());
    return key.join("|");
  }
  function within(root) { return Array.from(root.querySelectorAll("input:not([type=hidden],[type=file]),select,textarea,button,a,summary,[tabindex]")); }
  function changed(e) {
    if (e.type === "checkbox" || e.type === "radio") return e.checked !== e.defaultChecked;
    if (e.tagName === "SELECT") return Array.from(e.options).some(function (o) { return o.selected !== o.defaultSelected; });
    return e.value !== e.defaultValue;
  }
  function carry(old, fresh, sent) {
    var mine = within(old).filter(function (e) {
      return /^(INPUT|SELECT|TEXTAREA)$/.test(e.tagName) && e.form && e.form !== sent && (e.form.dataset.live === undefined || e === document.activeElement && typing(e)) && changed(e);
    });
    if (!mine.length) return;
    var theirs = new Map(within(fresh).map(function (e) { return [where(e), e]; }));
    mine.forEach(function (e) {
      var same = theirs.get(where(e));
      if (!same || same.tagName !== e.tagName) return;
      if (/checkbox|radio/.test(e.type)) same.checked = e.checked; else same.value = e.value;
    });
  }
  function returned(place, caret) {
    var again = place && within(document).find(function (e) { return where(e) === place; });
    (again || document.getElementById("main")).focus({ preventScroll: true });
    try { if (again && caret[0] !== null) again.setSelectionRange(caret[0], caret[1]); } catch (e) { /* numbers have no selection */ }
  }
  function typing(e) { return e && /^(INPUT|TEXTAREA)$/.test(e.tagName) && !/checkbox|radio|range|file/.test(e.type); }
  function say(words) {
    var box = document.getElementById("said"), line = document.createElement("p");
    line.className = "problem"; line.textContent = words; box.replaceChildren(line);
  }
  function madeOf(answer) { return Number(answer.headers.get("x-version")) || first; }
  function post(to, body, headers, sent) {
    document.body.classList.add("busy");
    return fetch(to, {
      method: "POST", body: body, credentials: "same-origin",
      headers: Object.assign({ "X-Rothko-Studio": secret, "X-View": view }, headers || {})
    }).then(function (r) { return r.text().then(function (t) { return [r, t]; }); }).then(function (both) {
      var r = both[0], t = both[1];
      if (r.ok || r.status === 422) swap(t, madeOf(r), sent); else say(t || "The studio does not answer.");
      if (r.status === 422) {
        document.getElementById("said").scrollIntoView({ block: "nearest" });
        document.querySelectorAll("form[data-live]").forEach(function (f) { f.reset(); });  // what was refused is not so
        heard(["page"], Infinity);
      }
      return r.ok;
    }, function () { say(GONE); return false; })
      .finally(function () { document.body.classList.remove("busy"); });
  }
  function send(form, submitter) {
    var data = new FormData(form), body = new URLSearchParams();
    data.forEach(function (value, name) { if (typeof value === "string") body.append(name, value); });
    if (submitter && submitter.name) body.append(submitter.name, submitter.value);
    return post(form.dataset.post, body, null, form);
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
    if (point) { e.preventDefault(); pick(point); return; }
    var field = e.target.closest("[data-fields] g[id$=-fields]>rect");
    if (field) choose(field);
  });
  function pick(point) {
    var to = point.closest("[data-picks]").dataset.picks;
    post("/do/" + to, new URLSearchParams({ trial: point.getAttribute("href").replace("#trial-", "") }));
  }
  function choose(field) {
    var of = field.closest("[data-fields]"), at = Array.prototype.indexOf.call(field.parentNode.children, field);
    post("/do/" + of.dataset.fields, new URLSearchParams({ at: at, painted: of.dataset.painted })).then(function (done) {
      if (done) document.getElementById("rows-of").scrollIntoView({ block: "nearest" });
    });
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
  // The page says of which version it is, and hears what it missed since: before it listened, while the connection was
  // lost, while it was hidden. A hidden page does not listen, for a browser opens few connections to one server.
  var wanted = new Map(), timer = null, later = false;
  function refresh(name) {
    return fetch("/part/" + view + "/" + name, { credentials: "same-origin" }).then(function (r) {
      return r.ok ? r.text().then(function (t) { swap(t, madeOf(r)); }) : null;
    }).catch(function () { setTimeout(heard, 1000, [name === "main" ? "page" : name], Infinity); });
  }
  function fetchAll() {
    timer = null;
    var names = wanted, main = document.getElementById("main");
    wanted = new Map();
    function behind(element, name) { return names.has(name) && version(element) < names.get(name); }
    var whole = behind(main, "page") || behind(main, "policy");
    if (whole && !(main.contains(document.activeElement) && typing(document.activeElement))) { refresh("main"); refresh("bar"); return; }
    later = later || whole;
    document.querySelectorAll("[data-part]").forEach(function (part) {
      var also = [part.dataset.part, "page", "policy"].concat((part.dataset.also || "").split(" "));
      if (also.some(function (name) { return behind(part, name); })) refresh(part.dataset.part);
    });
  }
  function heard(names, told) {
    names.forEach(function (n) { wanted.set(n, Math.max(told, wanted.get(n) || 0)); });
    if (timer === null) timer = setTimeout(fetchAll, 40);
  }
  document.addEventListener("focusout", function () {  // what was held back while somebody wrote
    if (later) { later = false; heard(["page"], Infinity); }
  });
  var events = null, last = first, silent = null, lost = false;
  function listen() {
    if (document.hidden) { if (events) { events.close(); events = null; } return; }
    if (events && events.readyState !== EventSource.CLOSED) return;
    events = new EventSource("/events?since=" + last);
    events.onmessage = function (e) { last = Number(e.lastEventId); heard(JSON.parse(e.data), last); };
    events.onopen = function () { clearTimeout(silent); if (lost) say(""); silent = null; lost = false; };
    events.onerror = function () {
      if (silent === null) silent = setTimeout(function () { lost = true; say(GONE); }, 3000);
    };
  }
  document.addEventListener("visibilitychange", listen);
  addEventListener("pageshow", listen);  // also a page that was left, and is gone back to
  listen();

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
    where.querySelectorAll("[data-chosen]").forEach(function (of) {
      var field = of.querySelectorAll("g[id$=-fields]>rect")[Number(of.dataset.chosen)];
      if (field) field.classList.add("chosen");
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
