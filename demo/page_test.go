package demo_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/internal/testkit"
)

// TestTheExampleOfThePage runs the Go of docs/demo-chain.md.
func TestTheExampleOfThePage(t *testing.T) {
	log, reg := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	node, err := demo.New(demo.Config{Seed: 1, TPS: 100, Tokens: 300, RealTime: true}, demo.Deps{Logger: log, Registerer: reg})
	require.NoError(t, err)
	go node.Run(ctx)
	err = node.WaitReady(ctx) // then node.GeyserAddr(), node.RPCURL(), node.BaseURL()
	require.NoError(t, err)
	require.NotEmpty(t, node.GeyserAddr())
	require.Contains(t, node.RPCURL(), "http://")
	require.Contains(t, node.BaseURL(), "http://")
	testkit.RequireExample(t, "demo-chain.md", "page_test.go")
}
