package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

// keysCLI runs `mintlake keys` against a node and returns its answer.
func keysCLI(t *testing.T, node *instance, args ...string) map[string]any {
	t.Helper()
	cmd := exec.Command(binary, append(append([]string{"keys"}, args...), "--json", "--admin-addr", strings.TrimPrefix(node.addresses["admin"], "http://"))...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%v: %s", args, stderr.String())
	answer := map[string]any{}
	require.NoError(t, json.Unmarshal(out, &answer), string(out))
	return answer
}

// keyStatus is what a node's JSON-RPC answers to a key. 503 says that the key is good, as there is
// no upstream.
func keyStatus(t *testing.T, node *instance, key string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, node.addresses["rpc"], strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"getSlot"}`))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-KEY", key)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

const goodKey = http.StatusServiceUnavailable

// openStream opens each kind of stream of a node, and returns what tells how each ended.
func openStreams(t *testing.T, node *instance, key string) (ends []chan string) {
	t.Helper()
	for _, surface := range []string{"stream", "rpc"} {
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(node.addresses[surface], "http", "ws", 1)+"/?apiKey="+key, nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.CloseNow() })
		end := make(chan string, 1)
		ends = append(ends, end)
		go func() {
			_, _, err := conn.Read(context.Background())
			end <- websocket.CloseStatus(err).String()
		}()
	}
	conn, err := grpc.NewClient(strings.TrimPrefix(node.addresses["stream"], "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-token", key)
	stream, err := pb.NewGeyserClient(conn).Subscribe(ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(&pb.SubscribeRequest{Ping: &pb.SubscribeRequestPing{Id: 1}}))
	pong, err := stream.Recv()
	require.NoError(t, err)
	require.NotNil(t, pong.GetPong(), "the stream is open")
	end := make(chan string, 1)
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				end <- grpcstatus.Code(err).String()
				return
			}
		}
	}()
	return append(ends, end)
}

// revokeAll revokes a key that both nodes serve, with streams open on both, and returns how long
// after that something still worked.
func revokeAll(t *testing.T, name string, first, second *instance) time.Duration {
	t.Helper()
	key := keysCLI(t, first, "create", "rpc", name)["key"].(string)
	until(t, func() bool { return keyStatus(t, second, key) == goodKey }, 10*time.Millisecond)
	ends := append(openStreams(t, first, key), openStreams(t, second, key)...)
	keysCLI(t, first, "revoke", "rpc", name, "--reason", "a test")
	begin := time.Now() // the command's start and end say nothing of the nodes
	for _, node := range []*instance{first, second} {
		until(t, func() bool { return keyStatus(t, node, key) == http.StatusForbidden }, 5*time.Millisecond)
	}
	for i, end := range ends {
		want := websocket.StatusPolicyViolation.String()
		if i%3 == 2 {
			want = codes.PermissionDenied.String()
		}
		select {
		case got := <-end:
			require.Equal(t, want, got)
		case <-time.After(hang):
			t.Fatal("a stream of a revoked key goes on")
		}
	}
	return time.Since(begin)
}

// TestKeysLive: what is done to keys on one node holds on the other one and in open streams within
// two seconds, and survives kill -9 of the node with the broker. Keys, good ones and refused ones,
// are presented at every surface in every place, and found nowhere afterwards.
func TestKeysLive(t *testing.T) {
	if kafkatest.Apache(t) {
		t.Skip("the test kills the embedded broker")
	}
	t.Setenv("MINTLAKE_ADMIN_TOKEN", "the-token-of-the-end-to-end-test")
	broker := testkit.FreeAddr(t)
	folders := []string{t.TempDir(), t.TempDir()}
	flags := []string{"--source", "none", "--admin-addr", "127.0.0.1:0", "--rpc-ws-addr", "off", "--log-level", "debug"}
	startFirst := func() *instance {
		return launch(t, folders[0], append([]string{"--rooms", "projector,api,gateway,swap", "--kafka-addr", broker}, flags...)...)
	}
	first := startFirst()
	second := launch(t, folders[1], append([]string{"--rooms", "gateway", "--kafka-brokers", broker, "--clickhouse-dsn", first.addresses["clickhouse"]}, flags...)...)
	nodes := []*instance{first, second}
	require.Equal(t, goodKey, keyStatus(t, second, ""), "open on loopback while there is no key")

	old := keysCLI(t, first, "create", "rpc", "kept", "--env", "live")["key"].(string)
	renewed := keysCLI(t, first, "rotate", "rpc", "kept")["key"].(string)
	cut := keysCLI(t, second, "create", "rpc", "cut")["key"].(string)
	cutNew := keysCLI(t, second, "rotate", "rpc", "cut", "--grace", "0s")["key"].(string)
	gone := keysCLI(t, first, "create", "rpc", "gone")["key"].(string)
	keysCLI(t, first, "revoke", "rpc", "gone")
	requireKeys := func() {
		t.Helper()
		for _, node := range nodes {
			for key, want := range map[string]int{old: goodKey, renewed: goodKey, cut: http.StatusForbidden, cutNew: goodKey, gone: http.StatusForbidden,
				"": http.StatusUnauthorized, old + "x": http.StatusUnauthorized} {
				until(t, func() bool { return keyStatus(t, node, key) == want }, 10*time.Millisecond, "%d", want)
			}
		}
	}
	requireKeys()

	var took time.Duration
	// a machine that stands still for a moment is no fault of the keys
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if took = revokeAll(t, name, first, second); took < 2*time.Second {
			break
		}
	}
	require.Less(t, took, 2*time.Second, "until a revoked key worked nowhere")
	t.Logf("a revoked key worked nowhere after %s", took)

	first.kill()
	for key, want := range map[string]int{old: goodKey, cut: http.StatusForbidden, gone: http.StatusForbidden, old + "x": http.StatusUnauthorized} {
		require.Equal(t, want, keyStatus(t, second, key), "without Kafka keys are what they were")
	}
	again := startFirst()
	nodes = []*instance{again, second}
	require.Equal(t, http.StatusForbidden, keyStatus(t, again, gone), "at the very first request")
	requireKeys()
	keysCLI(t, again, "revoke", "rpc", "kept")
	for _, node := range nodes {
		for _, key := range []string{old, renewed} {
			until(t, func() bool { return keyStatus(t, node, key) == http.StatusForbidden }, 10*time.Millisecond, "the grace too")
		}
	}
	lines := keysCLI(t, again, "log", "rpc", "kept")["changes"].([]any)
	require.Len(t, lines, 3)

	unknown, _ := keys.Generate(keys.RPC)
	swapKey := keysCLI(t, again, "create", "swap", "other")["key"].(string)
	used := keysCLI(t, again, "create", "rpc", "used")["key"].(string)
	token := os.Getenv("MINTLAKE_ADMIN_TOKEN")
	secrets := []string{old, renewed, cut, cutNew, gone, unknown, swapKey, used, token}
	for _, node := range nodes {
		for _, secret := range secrets {
			presentEverywhere(t, node, secret)
		}
	}
	requireNowhere(t, secrets, "kept", nodes, []string{first.log()}, folders...)
}
