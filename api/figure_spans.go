package api

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/replica"
)

// figureSpan asks that a figure of a token's market is known, at least least and at most most.
type figureSpan struct {
	name        string
	least, most float64
}

// queryFigures reads min_liquidity, min and max, and returns the filter; nil if all of them are
// absent. A token whose figure is unknown does not pass.
func (s *Server) queryFigures(c *fiber.Ctx) (func(id uint32) bool, error) {
	liquidity, err := queryUSD(c, "min_liquidity")
	if err != nil {
		return nil, err
	}
	figures := marketSorts()
	spans, err := figureSpans(figures, liquidity, queryList(c, "min"), queryList(c, "max"))
	if err != nil || len(spans) == 0 {
		return nil, err
	}
	figuresOf := make([]func(id uint32) (float64, bool), len(spans))
	for i := range spans {
		figuresOf[i] = s.replica.Figure(figures[spans[i].name])
	}
	return func(id uint32) bool {
		for i := range spans {
			if value, known := figuresOf[i](id); !known || !(value >= spans[i].least && value <= spans[i].most) {
				return false
			}
		}
		return true
	}, nil
}

// figureSpans returns the conditions of a least liquidity, of min and of max. Each figure has at
// most one, however many bounds a query repeats: a search compares each token with all conditions.
func figureSpans(figures map[string]func(m *replica.Market) *float64, liquidity *float64, mins, maxs []string) (spans []figureSpan, err error) {
	span := func(name string) *figureSpan {
		at := slices.IndexFunc(spans, func(s figureSpan) bool { return s.name == name })
		if at < 0 {
			at = len(spans)
			spans = append(spans, figureSpan{name, math.Inf(-1), math.Inf(1)})
		}
		return &spans[at]
	}
	if liquidity != nil {
		span("liquidity_usd").least = *liquidity
	}
	for _, text := range mins {
		name, limit, err := parseBound(figures, "min", text)
		if err != nil {
			return nil, err
		}
		of := span(name)
		of.least = max(of.least, limit)
	}
	for _, text := range maxs {
		name, limit, err := parseBound(figures, "max", text)
		if err != nil {
			return nil, err
		}
		of := span(name)
		of.most = min(of.most, limit)
	}
	return spans, nil
}

// parseBound reads FIGURE:NUMBER, such as volume_1h_usd:1000.
func parseBound(figures map[string]func(m *replica.Market) *float64, field, text string) (name string, limit float64, err error) {
	name, number, _ := strings.Cut(text, ":")
	_, known := figures[name]
	limit, parseErr := strconv.ParseFloat(number, 64)
	if !known || parseErr != nil || math.IsNaN(limit) || math.IsInf(limit, 0) || strings.ContainsAny(number, "xX_") {
		return "", 0, invalid(field, quoted(text), "must be a figure that tokens can be sorted by and a number, such as volume_1h_usd:1000, several with commas between")
	}
	return name, limit, nil
}
