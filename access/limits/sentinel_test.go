package limits

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/certs"
)

// freePort is a port that nobody else listens on.
func freePort(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(testkit.FreeAddr(t))
	require.NoError(t, err)
	return port
}

// admin is a client for what the test does to a server.
func admin(t *testing.T, port string, password ...string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, Password: strings.Join(password, ""), Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestSentinelsFailOver kills a master: its replica becomes master, limits are shared again, and
// what was counted still counts.
func TestSentinelsFailOver(t *testing.T) {
	login := []string{"--requirepass", "hunter2", "--masterauth", "hunter2"}
	master, replica := startRedis(t, freePort(t), login...), startRedis(t, freePort(t), login...)
	require.NoError(t, admin(t, replica.port, "hunter2").ReplicaOf(t.Context(), "127.0.0.1", master.port).Err())
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	require.NoError(t, os.WriteFile(file, []byte("sentinel monitor limits 127.0.0.1 "+master.port+" 1\n"+
		"sentinel auth-pass limits hunter2\nrequirepass geheim\nsentinel down-after-milliseconds limits 5000\nsentinel failover-timeout limits 3000\n"), 0o600))
	sentinel := startRedis(t, freePort(t), file, "--sentinel")
	watch := redis.NewSentinelClient(&redis.Options{Addr: "127.0.0.1:" + sentinel.port, Password: "geheim", Protocol: 2, DisableIdentity: true})
	defer func() { _ = watch.Close() }()
	require.Eventually(t, func() bool { // the Sentinel learns of the replica from the master
		replicas, err := watch.Replicas(t.Context(), "limits").Result()
		return err == nil && len(replicas) == 1
	}, hang, 50*time.Millisecond)

	var log buffer
	url := "redis://:hunter2@127.0.0.1:" + sentinel.port + "/0?master_name=limits&sentinel_password=geheim"
	rules := []Rule{{3, time.Hour}}
	node := newShared(t, patient(url), rules, SharedDeps{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	run(t, node)
	await(t, node, true)
	now := time.Now()
	require.Equal(t, 2, node.Take("a", now, 0).Remaining)
	require.Equal(t, 1, node.Take("a", now, 0).Remaining)
	require.Eventually(t, func() bool { // a replica follows with a delay
		length, err := admin(t, replica.port, "hunter2").LLen(t.Context(), "mintlake:limits:{a}:0").Result()
		return err == nil && length == 2
	}, hang, 10*time.Millisecond)

	master.kill()
	require.True(t, node.Take("b", now, 0).Allowed, "without Redis the node decides")
	await(t, node, true)
	require.Equal(t, 1, log.count("rate limits are not shared"))
	require.Equal(t, 2, log.count("rate limits are shared"))
	other := newShared(t, patient(url), rules, SharedDeps{})
	run(t, other)
	await(t, other, true)
	require.Equal(t, 0, other.Take("a", now, 0).Remaining, "the new master knows what the old one counted")
	require.False(t, other.Take("a", now, 0).Allowed)
}

// TestCluster: the windows of a client and its networks are on one server of three, so that one
// script sees them; many clients are on all of them.
func TestCluster(t *testing.T) {
	var servers []*redisServer
	for i := range 3 {
		server := startRedis(t, freePort(t), "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", freePort(t), "--cluster-node-timeout", "5000")
		require.NoError(t, admin(t, server.port).ClusterAddSlotsRange(t.Context(), i*5462, min(i*5462+5461, 16383)).Err())
		servers = append(servers, server)
	}
	for _, server := range servers[1:] {
		require.NoError(t, admin(t, servers[0].port).Do(t.Context(), "CLUSTER", "MEET", "127.0.0.1", server.port, server.busPort()).Err())
	}
	awaitCluster(t, servers)

	var log buffer
	url := "redis://127.0.0.1:" + servers[0].port + "?cluster=true&addr=127.0.0.1:" + servers[1].port
	rules := []Rule{{5, time.Hour}, {8, time.Hour}}
	networks := Networks{Factor56: 2, Factor48: 4}
	var nodes []*Shared
	for range 2 {
		local, err := New(rules, 4096, networks)
		require.NoError(t, err)
		node, err := NewShared(patient(url), SharedDeps{Local: local, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		run(t, node)
		await(t, node, true)
		nodes = append(nodes, node)
	}
	now := time.Now()
	for i := range 60 {
		client := fmt.Sprintf("203.0.113.%d", i)
		if i%2 == 0 {
			client = fmt.Sprintf("2001:db8:%x::/64", i)
		}
		allowed := 0
		for n := range 8 {
			if nodes[n%2].Take(client, now, 0, 1).Allowed {
				allowed++
			}
		}
		require.Equal(t, 5, allowed, "both nodes together, client %s", client)
	}
	for _, server := range servers {
		keys, err := admin(t, server.port).DBSize(t.Context()).Result()
		require.NoError(t, err)
		require.Positive(t, keys)
	}
	require.Zero(t, log.count("not shared"), "every request was decided by Redis")

	// A cluster without one of its servers: the nodes count alone and say so once, until it is
	// back.
	servers[2].kill()
	for i := range 300 {
		require.True(t, nodes[0].Take(fmt.Sprintf("198.51.100.%d", i), now, 0).Allowed)
	}
	require.False(t, nodes[0].Up())
	require.Equal(t, 1, log.count("rate limits are not shared"))
	servers[2].start()
	await(t, nodes[0], true)
}

// awaitCluster waits until each server says that all slots are served.
func awaitCluster(t *testing.T, servers []*redisServer) {
	t.Helper()
	for _, server := range servers {
		require.Eventually(t, func() bool {
			info, err := admin(t, server.port).ClusterInfo(t.Context()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3")
		}, hang, 50*time.Millisecond)
	}
}

// TestRedisOverTLS: rediss:// with an authority of one's own.
func TestRedisOverTLS(t *testing.T) {
	ca, other := certs.New(t), certs.New(t)
	pair := ca.Issue("redis.example", time.Now().Add(time.Hour))
	server := startRedis(t, "0", "--tls-port", freePort(t), "--tls-cert-file", pair.CertFile, "--tls-key-file", pair.KeyFile, "--tls-auth-clients", "no", "--requirepass", "hunter2")
	url := "rediss://:hunter2@127.0.0.1:" + server.listenPort()
	cfg := patient(url)
	cfg.CAFile = ca.File
	node := newShared(t, cfg, []Rule{{3, time.Hour}}, SharedDeps{})
	run(t, node)
	await(t, node, true)
	require.Equal(t, 2, node.Take("a", time.Now(), 0).Remaining)

	for want, change := range map[string]func(*SharedConfig){
		"certificate signed by unknown authority": func(c *SharedConfig) { c.CAFile = other.File },
		"WRONGPASS": func(c *SharedConfig) { c.URL = strings.Replace(url, "hunter2", "geheim", 1) },
	} {
		var log buffer
		wrong := cfg
		change(&wrong)
		s := newShared(t, wrong, []Rule{{3, time.Hour}}, SharedDeps{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		require.Eventually(t, func() bool { return log.count(want) > 0 }, hang, 5*time.Millisecond)
		stop()
		require.NoError(t, <-done)
		require.Equal(t, 1, log.count("\n"), "one line")
		require.Zero(t, log.count("geheim")+log.count("hunter2"))
	}
}

func TestParseRedis(t *testing.T) {
	for _, url := range []string{
		"redis://h:1", "rediss://u:p@h:1/2", "redis://h:1/2?master_name=m&addr=g:2&sentinel_password=x", "redis://h:1?cluster=true", "rediss://:p@h:1?cluster=true&addr=g:2",
	} {
		_, err := ParseRedis(url, "")
		require.NoError(t, err, url)
	}
	for _, url := range []string{
		"http://u:hunter2@h", "redis://h:1?cluster=yes&x=hunter2", "redis://h:1/3?cluster=true", "redis://h:1?cluster=true&master_name=m", "redis://h:1?hunter2=3", "redis://u:hunter2@h:x", "%",
	} {
		_, err := ParseRedis(url, "")
		require.ErrorIs(t, err, errRedisURL, url)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := ParseRedis("redis://h:1", "/nowhere")
	require.ErrorContains(t, err, "must begin with rediss://")
	_, err = ParseRedis("rediss://h:1", "/nowhere")
	require.ErrorContains(t, err, "rate_limits.shared_ca_file")
}
