// Search runs in a worker, which browsers refuse to start from a file. Where the site is read from its files, a hidden
// frame takes the place of the worker; from a server this does nothing.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onerror = this.onmessageerror = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      (document.body || document.documentElement).append(this.frame);
      const inner = (this.inner = this.frame.contentWindow);
      inner.postMessage = (data) => setTimeout(() => this.tell("message", { data }));
      const script = inner.document.createElement("script");
      script.src = new URL(url, document.baseURI).href;
      this.ready = new Promise((resolve) => {
        script.onload = resolve;
        script.onerror = () => this.tell("error", {});
      });
      inner.document.documentElement.append(script);
    }
    tell(kind, about) {
      const event = new MessageEvent(kind, about);
      this["on" + kind]?.(event);
      this.dispatchEvent(event);
    }
    postMessage(data) {
      this.ready.then(() => this.inner?.dispatchEvent(new this.inner.MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
      this.inner = null;
    }
  };
}
