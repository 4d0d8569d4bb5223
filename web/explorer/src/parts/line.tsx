// A small line drawing, for figures that need no axes: first, last, least and most stand in words.
interface Point {
  x: number;
  y: number;
}

const [width, height] = [600, 90];

/** Line draws points in their order; `steps` holds each value until the next. */
export function Line({ points, name, label, text, where, steps = false }: { points: Point[]; name: string; label: string; text: (y: number) => string; where: (x: number) => string; steps?: boolean }) {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return null;
  const most = Math.max(...points.map((point) => point.y));
  const least = Math.min(...points.map((point) => point.y), 0);
  const place = ({ x, y }: Point) =>
    [((x - first.x) / (last.x - first.x || 1)) * width, height - 4 - ((y - least) / (most - least || 1)) * (height - 8)].map((n) => n.toFixed(1)) as [string, string];
  const path = points.map((point, n) => {
    const [x, y] = place(point);
    return n === 0 ? `M${x} ${y}` : steps ? `H${x}V${y}` : `L${x} ${y}`;
  });
  return (
    <figure class="line">
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
        <path d={path.join("")} fill="none" stroke="var(--accent)" stroke-width="2" vector-effect="non-scaling-stroke" />
      </svg>
      <figcaption>
        <span>{where(first.x)}</span>
        <span>
          {name}: highest {text(most)}, now {text(last.y)}
        </span>
        <span>{where(last.x)}</span>
      </figcaption>
    </figure>
  );
}
