// Sliders that move a picture while they are dragged. A chart of dpsyn.kit.live holds what it shows for every value of a slider;
// here a slider's place is handed to the chart's hidden input "live_KEY", and to the words that follow the same slider.
(() => {
  if (window.dpsynLive) return;
  window.dpsynLive = true;
  const put = (input, value) => {
    if (input.value === String(value)) return;
    input.value = value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const place = (slider) => Math.round((slider.value - slider.min) / (Number(slider.step) || 1));
  const hand = (key, at) => {
    for (const input of document.querySelectorAll(`.vega-bind input[name="live_${key}"]`)) {
      // Of two sliders the one that moves counts; what the other one said came back from the server as the chart's own.
      for (const other of input.closest(".vega-bindings").querySelectorAll("input")) if (other !== input) put(other, -1);
      put(input, at);
    }
    for (const words of document.querySelectorAll(`[data-live="${key}"]`)) words.textContent = JSON.parse(words.dataset.words)[at];
  };
  const follow = (slider) => {
    if (slider.dataset?.slides) {
      hand(slider.dataset.slides, place(slider));
      slider.setAttribute("aria-valuetext", JSON.parse(slider.dataset.words)[place(slider)]);
      return;
    }
    const key = slider.closest?.("[data-testid='stSlider']")?.closest("[class*='st-key-']")?.className.match(/st-key-(\S+)/)?.[1];
    if (key) hand(key, place(slider));
  };
  new MutationObserver((changes) => {
    for (const change of changes) if (change.target.type === "range" && !change.target.dataset.slides) follow(change.target);
  }).observe(document.body, { subtree: true, attributeFilter: ["aria-valuetext", "aria-valuenow", "value"] });
  document.addEventListener("input", (event) => event.target.dataset?.slides && event.isTrusted && (stop(), follow(event.target)));

  // The page as a whole would be one more stop of the keyboard before its first control.
  document.querySelector("[data-testid='stMain']")?.setAttribute("tabindex", "-1");

  // Streamlit leaves a new page where the old one was scrolled to.
  let path = location.pathname;
  new MutationObserver(() => {
    if (location.pathname === path) return;
    path = location.pathname;
    document.querySelector("[data-testid='stMain']")?.scrollTo(0, 0);
  }).observe(document.head, { subtree: true, childList: true, characterData: true });

  let walk = null;
  const stop = () => {
    clearInterval(walk);
    walk = null;
    for (const button of document.querySelectorAll("[data-plays]")) button.textContent = "▶ Play";
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-plays]");
    if (!button) return;
    if (walk) return stop();
    button.textContent = "❚❚ Pause";
    let step = 1;
    walk = setInterval(() => {
      const slider = document.querySelector(`[data-slides="${button.dataset.plays}"]`);
      if (!slider) return stop();
      if (Number(slider.value) + step > slider.max || Number(slider.value) + step < slider.min) step = -step;
      slider.value = Number(slider.value) + step;
      follow(slider);
    }, 260);
  });
})();
