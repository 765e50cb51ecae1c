/* global document, uPlot, ResizeObserver */

// Runs in the browser, within the page that render-page.ts makes: draws each plot into its place.
const colours = ['#2f6fb2', '#c8501e', '#3f8f4f', '#7b4fa3', '#b08400', '#1f8a95', '#a3161b', '#5c6670'];
const height = 300;
const logarithmic = 3;

const plots = JSON.parse(document.getElementById('plots').textContent);
for (const place of document.querySelectorAll('[data-plot]')) draw(place, plots[Number(place.dataset.plot)]);

function draw(place, plot) {
  const { xs, xScale, yScale, xTitle, yTitle, series, isSparse } = plot;
  const options = {
    width: place.clientWidth,
    height,
    scales: {
      x: { time: false, distr: xScale === 'linear' ? 1 : logarithmic },
      y:
        yScale === 'log'
          ? { distr: logarithmic }
          : { range: (_, least, most) => [Math.min(0, least), most * 1.05 || 1] },
    },
    axes: [
      { label: xTitle, values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : xText(tick, xScale))) },
      { label: yTitle, size: 70, values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : yText(tick))) },
    ],
    series: [
      { label: xTitle, value: (_, x) => (x === null ? '' : xText(x, xScale)) },
      ...series.map(({ name }, index) => ({
        label: name,
        stroke: colours[index % colours.length],
        width: 2,
        spanGaps: isSparse === true,
        points: { show: xs.length < 40 },
        value: (_, y) => (y === null || y === undefined ? '' : yText(y)),
      })),
    ],
  };
  // A logarithm knows no zero.
  const values = series.map((one) => (yScale === 'log' ? one.values.map((y) => (y > 0 ? y : null)) : one.values));
  const drawn = new uPlot(options, [xs, ...values], place);
  new ResizeObserver(() => drawn.setSize({ width: place.clientWidth, height })).observe(place);
}

function xText(x, scale) {
  return scale === 'percentile' ? `${Number((100 - 100 / x).toPrecision(6))} %` : yText(x);
}

function yText(y) {
  return Math.abs(y) >= 100 ? Math.round(y).toLocaleString('en-GB') : String(Number(y.toPrecision(3)));
}
