package main

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What would end a start is told before a file is written.
func TestProblemsAreToldBeforeAnEngineStarts(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	dir := filepath.Join(t.TempDir(), "data")
	_, err = runCommand(t, "up", "--data-dir", dir, "--source", "file:/nowhere/blocks", "--api-addr", taken.Addr().String(), "--swap-addr", taken.Addr().String(),
		"--metrics-addr", "127.0.0.1:0", "--kafka-addr", "127.0.0.1:0", "--clickhouse-addr", "127.0.0.1:0", "--rpc-addr", "127.0.0.1:0", "--stream-addr", "127.0.0.1:0")
	require.ErrorContains(t, err, "/nowhere/blocks")
	require.ErrorContains(t, err, "api.addr: "+taken.Addr().String()+" is taken")
	require.ErrorContains(t, err, "swap.addr: "+taken.Addr().String()+" is taken")
	require.Regexp(t, `free is --api-addr 127\.0\.0\.1:\d+`, err.Error())
	require.NoDirExists(t, dir)
}

func TestTwoSettingsOfOneAddressAreTold(t *testing.T) {
	cfg := defaults()
	cfg.API.Addr, cfg.Swap.Addr, cfg.Metrics.Addr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	require.NoError(t, checkStart(cfg, []string{roomAPI, roomSwap}, false), "port 0 is always free")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	cfg.API.Addr, cfg.Swap.Addr = free.Addr().String(), free.Addr().String()
	require.NoError(t, free.Close())
	err = checkStart(cfg, []string{roomAPI, roomSwap}, false)
	require.ErrorContains(t, err, "swap.addr")
	require.NotContains(t, err.Error(), "api.addr:")
}
