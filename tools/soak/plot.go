package main

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// line is one curve of a panel.
type line struct {
	name string
	of   func(*sample) float64
}

// colours tell up to four curves apart, also for people who cannot tell red from green.
var colours = []color.Color{
	color.RGBA{R: 0, G: 114, B: 178, A: 255}, color.RGBA{R: 213, G: 94, B: 0, A: 255}, color.RGBA{R: 0, G: 158, B: 115, A: 255}, color.RGBA{R: 204, G: 121, B: 167, A: 255},
}

// plot draws the run as panels over each other, with one axis of time in minutes.
func (r *record) plot(path string) error {
	lag := func(reader string) func(*sample) float64 {
		return func(s *sample) float64 {
			if s.lags == nil {
				return math.NaN()
			}
			return s.lags[reader]
		}
	}
	panels := []*plot.Plot{
		r.panel("records that wait", line{"projector", lag("projector")}, line{"swaps", lag("swaps")}, line{"enrich", lag("enrich")}, line{"api", lag("api")}),
		r.rates("done a second"),
		r.panel("resident memory, MB", line{"node", func(s *sample) float64 { return s.nodeMemory / 1e6 }}, line{"engine", func(s *sample) float64 { return s.engineMemory / 1e6 }}),
		r.panel("descriptors and goroutines", line{"node", func(s *sample) float64 { return s.descriptors }},
			line{"engine", func(s *sample) float64 { return s.engineDescriptors }}, line{"goroutines", func(s *sample) float64 { return s.goroutines }}),
		r.kafkaPanel("slowest Kafka request, s"),
	}
	const width, height = 24 * vg.Centimeter, 8 * vg.Centimeter
	picture := vgimg.New(width, height*vg.Length(len(panels)))
	tiles := draw.Tiles{Rows: len(panels), Cols: 1, PadX: vg.Millimeter, PadY: 4 * vg.Millimeter, PadTop: 2 * vg.Millimeter, PadRight: 4 * vg.Millimeter}
	grid := make([][]*plot.Plot, len(panels))
	for i := range panels {
		grid[i] = panels[i : i+1]
	}
	for i, row := range plot.Align(grid, tiles, draw.New(picture)) {
		panels[i].Draw(row[0])
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = vgimg.PngCanvas{Canvas: picture}.WriteTo(file)
	return errors.Join(err, file.Close())
}

func newPanel(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = title, "minutes"
	p.Y.Min = 0
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	return p
}

func (r *record) panel(title string, lines ...line) *plot.Plot {
	p := newPanel(title)
	for i, l := range lines {
		x, y := r.series(l.of)
		addCurve(p, l.name, i, x, y)
	}
	return p
}

// rates draws how much each room finishes a second, except for ingest, which is the first of
// progress.
func (r *record) rates(title string) *plot.Plot {
	p := newPanel(title)
	for i, room := range progress[1:] {
		x, y := r.series(func(s *sample) float64 { return s.done[room.room] })
		for j := len(y) - 1; j > 0; j-- {
			y[j] = max(0, y[j]-y[j-1]) / max(1e-3, 60*(x[j]-x[j-1]))
		}
		if len(y) > 0 {
			addCurve(p, room.room, i, x[1:], y[1:])
		}
	}
	return p
}

func (r *record) kafkaPanel(title string) *plot.Plot {
	p := newPanel(title)
	x := make([]float64, len(r.samples))
	for i := range r.samples {
		x[i] = r.samples[i].at.Minutes()
	}
	addCurve(p, "metadata, offsets", 0, x, r.slowest)
	return p
}

func addCurve(p *plot.Plot, name string, i int, x, y []float64) {
	points := make(plotter.XYs, len(x))
	for j := range x {
		points[j] = plotter.XY{X: x[j], Y: y[j]}
	}
	if len(points) == 0 {
		return
	}
	curve, err := plotter.NewLine(points)
	if err != nil {
		p.Title.Text = fmt.Sprintf("%s (%s: %s)", p.Title.Text, name, err)
		return
	}
	curve.Color = colours[i%len(colours)]
	p.Add(curve)
	p.Legend.Add(name, curve)
}
