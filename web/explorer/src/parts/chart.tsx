// Candles with volume. The picture is for eyes; the same figures in words are beside it.
import { CandlestickSeries, HistogramSeries, type IChartApi, type ISeriesApi, type UTCTimestamp, createChart } from "lightweight-charts";
import { useEffect, useRef } from "preact/hooks";
import type { Candle } from "../api";
import { usd } from "../format";

interface Series {
  chart: IChartApi;
  candles: ISeriesApi<"Candlestick">;
  volume: ISeriesApi<"Histogram">;
}

/** color is one of style.css, which has them for light and dark. */
const color = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function dress({ chart, candles }: Series) {
  const line = color("line");
  chart.applyOptions({
    layout: { background: { color: "transparent" }, textColor: color("soft"), fontFamily: "system-ui, sans-serif" },
    grid: { vertLines: { color: line }, horzLines: { color: line } },
    rightPriceScale: { borderColor: line },
    timeScale: { borderColor: line },
  });
  const [up, down] = [color("up"), color("down")];
  candles.applyOptions({ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down, borderVisible: false });
}

/** create makes a chart. text writes a price. */
function create(at: HTMLElement, text: (value: number) => string): Series {
  // The logo brings a style element, which the content security policy refuses; the footer names the library.
  const chart = createChart(at, { autoSize: true, layout: { attributionLogo: false }, timeScale: { timeVisible: true, secondsVisible: false, maxBarSpacing: 24 } });
  const candles = chart.addSeries(CandlestickSeries, {
    priceFormat: { type: "custom", formatter: (value: number) => text(Math.max(value, 0)), minMove: 1e-12 },
  });
  candles.priceScale().applyOptions({ scaleMargins: { top: 0.08, bottom: 0.28 } });
  const volume = chart.addSeries(HistogramSeries, { priceScaleId: "", priceFormat: { type: "custom", formatter: usd }, lastValueVisible: false, priceLineVisible: false });
  volume.priceScale().applyOptions({ scaleMargins: { top: 0.8, bottom: 0 } });
  const series = { chart, candles, volume };
  dress(series);
  return series;
}

function fill({ candles, volume }: Series, data: Candle[]) {
  candles.setData(
    data.flatMap(({ time, open, high, low, close }) =>
      open == null || high == null || low == null || close == null ? [] : [{ time: time as UTCTimestamp, open, high, low, close }],
    ),
  );
  const [up, down] = [color("up-soft"), color("down-soft")];
  volume.setData(data.map((c) => ({ time: c.time as UTCTimestamp, value: c.volume_usd, color: (c.close ?? 0) >= (c.open ?? 0) ? up : down })));
}

/** Chart draws candles; `about` names what is drawn, and with another one all of it is brought into view. `text` writes their prices. */
export function Chart({ data, about, label, text }: { data: Candle[]; about: string; label: string; text: (value: number) => string }) {
  const element = useRef<HTMLDivElement>(null);
  const series = useRef<Series | null>(null);
  const latest = useRef(data);
  latest.current = data;
  const written = useRef(text);
  written.current = text;
  useEffect(() => {
    const made = (series.current = create(element.current!, (value) => written.current(value)));
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const redress = () => {
      dress(made);
      fill(made, latest.current);
    };
    scheme.addEventListener("change", redress);
    return () => {
      scheme.removeEventListener("change", redress);
      made.chart.remove();
    };
  }, []);
  useEffect(() => fill(series.current!, data), [data]);
  useEffect(() => series.current!.chart.timeScale().fitContent(), [about, data.length > 0]);
  return <div class="chart" ref={element} role="img" aria-label={label} />;
}
