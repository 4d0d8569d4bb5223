package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// docs/metrics.md is what make gen writes from the code.
func TestPageOfMetricsIsUpToDate(t *testing.T) {
	root := testkit.Root(t)
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	require.NoError(t, err)
	made, err := generate(root)
	require.NoError(t, err)
	require.Equal(t, strings.Split(made, "\n"), strings.Split(string(text), "\n"), "run make gen")
}

// TestMetricsAreRead: metrics are found however a package makes them.
func TestMetricsAreRead(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", `package p

import "github.com/prometheus/client_golang/prometheus"

const prefix = "mintlake_p_"

var described = prometheus.NewDesc(prefix+"described", "A desc.", []string{"b", "a"}, nil)

func newMetrics(purpose string) {
	labels := prometheus.Labels{"purpose": purpose}
	prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_plain_total", Help: "Plain.", ConstLabels: labels})
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, append([]string{"kind"}, labels...))
	}
	one := func(name, help string) prometheus.Counter { return vec(name, help).WithLabelValues("x") }
	one("one_total", "One.")
	vec("two_total", "Two.", "reason")
	r := registration{}
	r.gauge("three", "Three.", prometheus.Labels{"status": purpose})
}

func other() {
	vec := func(name, help string) { prometheus.NewHistogram(prometheus.HistogramOpts{Name: "mintlake_other_" + name, Help: help}) }
	vec("seconds", "Other.")
}

func (r *registration) gauge(name, help string, labels prometheus.Labels) {
	prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, nil)
}
`, parser.SkipObjectResolution)
	require.NoError(t, err)
	p := newPackage()
	p.files = append(p.files, file)
	require.Equal(t, map[string]metric{
		"mintlake_p_described":   {"gauge", "A desc.", []string{"a", "b"}},
		"mintlake_plain_total":   {"counter", "Plain.", []string{"purpose"}},
		"mintlake_p_one_total":   {"counter", "One.", []string{"kind"}},
		"mintlake_p_two_total":   {"counter", "Two.", []string{"kind", "reason"}},
		"three":                  {"gauge", "Three.", []string{"status"}},
		"mintlake_other_seconds": {"histogram", "Other.", nil},
	}, p.metrics())
}
