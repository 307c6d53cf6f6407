// The versions beside this one, from the list in the folder above; where the folder was taken out alone there is no menu.
(function () {
  const here = new URL("../", document.currentScript.src), list = document.createElement("script");
  list.src = new URL("../versions.js", here).href;
  list.onload = () => {
    const versions = window.rothkoVersions || [], title = document.querySelector(".md-header__title");
    if (versions.length < 2 || !title) return;
    const menu = document.createElement("select");
    menu.className = "rothko-versions";
    menu.setAttribute("aria-label", "Version");
    for (const name of versions) {
      const one = new Option(name, name);
      one.selected = here.pathname.endsWith("/" + encodeURIComponent(name) + "/");
      menu.append(one);
    }
    menu.onchange = () => (location.href = new URL("../" + encodeURIComponent(menu.value) + "/index.html", here).href);
    title.after(menu);
  };
  document.head.append(list);
})();
