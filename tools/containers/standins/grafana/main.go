// Command grafana-standin stands in for the official Grafana image in tests on machines without an
// image registry.
//
// In: the provisioning folder (data sources, dashboard providers) and the dashboards that it names.
// Out: GET /api/health; GET /standin/queries runs every query of every dashboard against the
// provisioned data sources and tells for each how much came back. It draws nothing, and knows of
// Grafana's macros those that the dashboards use.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "grafana-standin:", err)
		os.Exit(1)
	}
}

func serve() error {
	folder := os.Getenv("GF_PATHS_PROVISIONING")
	if folder == "" {
		folder = "/etc/grafana/provisioning"
	}
	if home := os.Getenv("GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"); home != "" {
		if _, err := os.Stat(home); err != nil { //nolint:gosec // named by who starts it
			return fmt.Errorf("GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH: %w", err)
		}
	}
	p, err := load(folder)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "grafana-standin: %d data sources, %d dashboards\n", len(p.sources), len(p.dashboards))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/health", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"database":"ok"}`)) })
	mux.HandleFunc("GET /standin/queries", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Minute)
		defer cancel()
		_ = json.NewEncoder(w).Encode(p.runAll(ctx))
	})
	server := &http.Server{Addr: "0.0.0.0:3000", Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}
