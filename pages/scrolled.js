// What is wider than its room is scrolled with the keys, too: whoever has no pointer can go there.
(function () {
  const reached = () => document.querySelectorAll("pre>code,.md-typeset__scrollwrap").forEach((one) => {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0; else one.removeAttribute("tabindex");
  });
  addEventListener("load", reached);
  addEventListener("resize", reached);
})();
