package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/pprof" // it registers with http.DefaultServeMux, which nobody serves
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/access/hosts"
	"github.com/mintlake/mintlake/access/listen"
	"github.com/mintlake/mintlake/internal/framing"
)

// Bounds of the connections at the metrics address, of all and of one client address. Prometheus
// has one or two.
const metricsConnections, metricsConnectionsOfOne = 256, 64

// startMetrics serves Prometheus metrics, probes, and profiles if they are enabled. It starts first
// and stops last, so that a slow start can be watched.
func (s *system) startMetrics(ctx context.Context) error {
	listener, err := listen.TCP(ctx, s.cfg.Metrics.Addr, "--metrics-addr")
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	// The guard refuses web pages whose own name points at this machine (DNS rebinding). The read
	// timeout is short, since no request here has a body.
	guard := hosts.New(listener.Addr(), s.cfg.Metrics.Addr, s.cfg.AllowedHosts)
	server := &http.Server{
		Handler: guard.Wrap(s.metricsRoutes()), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	bounded := listen.Limited(framing.Listener(listener), listen.Limits{Most: metricsConnections, MostOfOne: metricsConnectionsOfOne})
	s.addresses.add("metrics", "http://"+listener.Addr().String()+"/metrics")
	s.lifecycle.start("metrics", func(ctx context.Context) error {
		context.AfterFunc(ctx, func() { _ = server.Close() })
		if err := server.Serve(bounded); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	s.lifecycle.start("readiness", s.readiness.Run)
	return nil
}

func (s *system) metricsRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(s.registerer, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.Handle("/readyz", s.readiness)
	if s.cfg.Metrics.PProf {
		mux.HandleFunc("/debug/pprof/", pprof.Index) // heap, goroutine, mutex, block, … by name
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// processMetrics are the metrics of this process's build, and of the space on its disk.
func processMetrics(cfg *Config) []prometheus.Collector {
	build := thisBuild()
	about := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "mintlake_build_info", Help: "Always 1; the labels say which build this process is of.",
		ConstLabels: prometheus.Labels{"version": build.Version, "commit": build.Commit, "goversion": build.Go},
	}, func() float64 { return 1 })
	disk := func(name, help string, bytes func(*unix.Statfs_t) uint64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "mintlake_data_dir_" + name, Help: help}, func() float64 {
			stat, err := fileSystemOf(cfg.DataDir)
			if err != nil {
				return math.NaN()
			}
			return float64(bytes(stat) * uint64(stat.Bsize))
		})
	}
	return []prometheus.Collector{
		about,
		disk("free_bytes", "Bytes free for Mintlake on the file system of data_dir.", func(s *unix.Statfs_t) uint64 { return s.Bavail }),
		disk("size_bytes", "Bytes of the file system of data_dir.", func(s *unix.Statfs_t) uint64 { return s.Blocks }),
	}
}

// fileSystemOf returns the state of the folder's file system. If the folder does not exist yet, it
// asks for the nearest parent that does.
func fileSystemOf(folder string) (*unix.Statfs_t, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("find data_dir: %w", err)
	}
	var stat unix.Statfs_t
	for {
		err := unix.Statfs(folder, &stat)
		if err == nil || !errors.Is(err, unix.ENOENT) || folder == filepath.Dir(folder) {
			return &stat, err
		}
		folder = filepath.Dir(folder)
	}
}
