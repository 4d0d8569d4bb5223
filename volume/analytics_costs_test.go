package volume_test

import (
	"fmt"
	"strconv"
	"strings"
)

// cost is what a query took.
type cost struct {
	rows, bytes, seconds float64
}

// speed is bytes a second.
func (c cost) speed() float64 { return c.bytes / c.seconds }

// measurable: the query takes long enough, and its bytes grow enough, for its speed to say
// something.
func measurable(costs []cost) bool {
	last := costs[len(costs)-1]
	return last.seconds >= 0.1 && last.bytes >= 10e6 && last.bytes >= 2*costs[0].bytes
}

func headings(sizes []float64) string {
	var all []string
	for _, size := range sizes {
		all = append(all, fmt.Sprintf("%.0f million legs", size/1e6))
	}
	return strings.Join(all, " | ")
}

// printCosts prints a line of the table: rows, bytes and seconds at each size, and at a billion.
func printCosts(name, which string, sizes []float64, costs []cost, slowest float64) {
	fmt.Printf("| %s | %s |", name, which)
	var rows, bytes []float64
	for _, c := range costs {
		rows, bytes = append(rows, c.rows), append(bytes, c.bytes)
		fmt.Printf(" %s, %s, %s |", strings.TrimSpace(short(c.rows)), short(c.bytes)+"B", duration(c.seconds))
	}
	last := costs[len(costs)-1]
	manyRows, manyBytes := line(sizes, rows, billion), line(sizes, bytes, billion)
	speed := slowest
	if measurable(costs) {
		speed = last.speed()
	}
	fmt.Printf(" %s, %s, %s |\n", strings.TrimSpace(short(manyRows)), short(manyBytes)+"B", duration(last.seconds+(manyBytes-last.bytes)/speed))
}

// line is the value at x of the straight line that is nearest to the points, at least that of the
// last point.
func line(xs, ys []float64, x float64) float64 {
	var sx, sy, sxx, sxy float64
	n := float64(len(xs))
	for i := range xs {
		sx, sy, sxx, sxy = sx+xs[i], sy+ys[i], sxx+xs[i]*xs[i], sxy+xs[i]*ys[i]
	}
	if n < 2 {
		return ys[0] * x / xs[0]
	}
	slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	return max((sy-slope*sx)/n+slope*x, ys[len(ys)-1])
}

func short(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if n >= unit.size {
			return strconv.FormatFloat(n/unit.size, 'g', 3, 64) + unit.name
		}
	}
	return strconv.FormatFloat(n, 'f', 0, 64) + " "
}

func duration(seconds float64) string {
	switch {
	case seconds < 1:
		return fmt.Sprintf("%.0f ms", seconds*1000)
	case seconds < 120:
		return fmt.Sprintf("%.1f s", seconds)
	default:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
}
