package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/mintlake/mintlake/schemas"
)

// presentEverywhere presents a key at every surface of a node, in each place where a client may put
// it by right or by mistake. What is answered does not matter here.
func presentEverywhere(t *testing.T, node *instance, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	presentOverHTTP(ctx, node, key)
	presentOverWebSocket(ctx, node, key)
	presentOverGRPC(ctx, t, node, key)
	show := exec.CommandContext(ctx, binary, "keys", "show", "rpc", key, "--admin-addr", strings.TrimPrefix(node.addresses["admin"], "http://"))
	require.Error(t, show.Run(), "no key has a key as its name")
}

func presentOverHTTP(ctx context.Context, node *instance, key string) {
	send := func(method, url, body string, headers ...string) {
		request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			return // no such header or URL can be sent
		}
		request.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			request.Header.Set(headers[i], headers[i+1])
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"getBalance","params":["` + key + `"]}`
	for _, surface := range []string{"rpc", "stream", "swap", "api", "admin", "metrics"} {
		at := node.addresses[surface]
		if at == "" {
			continue
		}
		at = strings.TrimSuffix(at, "/metrics")
		for _, path := range []string{"/?apiKey=" + key, "/?api-key=" + key, "/" + key, "/" + key + "/", "/tokens/" + key, "/tokens?q=" + key, "/v1/keys/rpc/" + key, "/usage?key=" + key,
			"/api/v2/quote?inputMint=" + key + "&apiKey=" + key, "/api/v2/venues?x=" + key} {
			send(http.MethodGet, at+path, "")
			send(http.MethodPost, at+path, call)
		}
		for _, header := range []string{"X-API-KEY", "X-Token", "Cookie", "User-Agent", "X-Mintlake-Session", "X-Forwarded-For", "X-Request-Id", key} {
			send(http.MethodGet, at+"/", "", header, key)
			send(http.MethodGet, at+"/api/v2/venues", "", header, key)
			send(http.MethodPost, at+"/", call, header, key)
		}
		send(http.MethodPost, at+"/", call, "Authorization", "Bearer "+key)
		send(http.MethodPost, at+"/", call, "Origin", "http://"+key+".example")
		for _, body := range []string{key, `"` + key + `"`, `{"apiKey":"` + key + `"}`, `{"jsonrpc":"2.0","id":"` + key + `","method":"` + key + `","params":{"key":"` + key + `"}}`} {
			send(http.MethodPost, at+"/", body, "X-API-KEY", key)
			send(http.MethodPost, at+"/api/v2/swap", body, "X-API-KEY", key)
		}
	}
}

func presentOverWebSocket(ctx context.Context, node *instance, key string) {
	for _, surface := range []string{"rpc", "stream"} {
		conn, _, err := websocket.Dial(ctx, strings.Replace(node.addresses[surface], "http", "ws", 1)+"/?apiKey="+key, nil)
		if err != nil {
			continue // a key that is refused
		}
		for _, message := range []string{key, `{"jsonrpc":"2.0","id":1,"method":"` + key + `","params":["` + key + `"]}`,
			`{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{"accountInclude":["` + key + `"]}]}`,
			`{"jsonrpc":"2.0","id":1,"method":"signatureSubscribe","params":["` + key + `"]}`} {
			if conn.Write(ctx, websocket.MessageText, []byte(message)) == nil {
				_, _, _ = conn.Read(ctx)
			}
		}
		_ = conn.Close(websocket.StatusNormalClosure, key)
	}
}

func presentOverGRPC(ctx context.Context, t *testing.T, node *instance, key string) {
	t.Helper()
	conn, err := grpc.NewClient(strings.TrimPrefix(node.addresses["stream"], "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	for _, header := range []string{"x-token", "authorization", "x-api-key"} {
		stream, err := pb.NewGeyserClient(conn).Subscribe(metadata.AppendToOutgoingContext(ctx, header, key))
		require.NoError(t, err)
		_ = stream.Send(&pb.SubscribeRequest{Transactions: map[string]*pb.SubscribeRequestFilterTransactions{key: {AccountInclude: []string{key}}}})
		_, err = stream.Recv()
		require.Error(t, err, "the account is none")
	}
}

// spellings returns the forms in which a secret could be stored: as it is, in hex, and in base64 at
// each of the three places that it may have in a longer text. What is public of a key is left out.
func spellings(secret string) (list []string) {
	hidden := secret
	if i := strings.LastIndexByte(secret, '_'); i >= 0 {
		hidden = secret[i+5:]
	}
	coded := hex.EncodeToString([]byte(hidden))
	list = append(list, hidden, coded, strings.ToUpper(coded))
	for before := range 3 {
		text := append(make([]byte, before), hidden...)
		// Only the characters that no neighbour of the secret has a part in.
		first, end := (8*before+5)/6, 8*len(text)/6
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			list = append(list, encoding.EncodeToString(text)[first:end])
		}
	}
	return list
}

func TestSpellings(t *testing.T) {
	const secret = "ml_rpc_live_abcdTheHiddenPart?~>0"
	for _, text := range []string{"", "x", "xy", "xyz"} {
		text += strings.TrimPrefix(secret, "ml_rpc_live_abcd") + "rest"
		for _, stored := range []string{text, hex.EncodeToString([]byte(text)), base64.StdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text))} {
			require.NotEmpty(t, found([]byte(stored), spellings(secret)), stored)
		}
		require.Empty(t, found([]byte("ml_rpc_live_abcd"), spellings(secret)))
	}
}

// found returns the first of the texts that is in content; empty if none is.
func found(content []byte, texts []string) string {
	for _, text := range texts {
		if bytes.Contains(content, []byte(text)) {
			return text
		}
	}
	return ""
}

// requireNowhere searches for secrets in all logs and metrics of the nodes, in all topics and
// tables, and in all files of the folders. present is a text that topics and tables must have: it
// shows that the search would find something.
func requireNowhere(t *testing.T, secrets []string, present string, nodes []*instance, logs []string, folders ...string) {
	t.Helper()
	var texts []string
	for _, secret := range secrets {
		texts = append(texts, spellings(secret)...)
	}
	search := func(where string, content []byte) {
		t.Helper()
		require.Empty(t, found(content, texts), "a secret in %s", where)
	}
	for _, node := range nodes {
		response, err := http.Get(node.addresses["metrics"])
		require.NoError(t, err)
		metrics, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		search("metrics", metrics)
		logs = append(logs, node.log())
	}
	for _, log := range logs {
		search("a log", []byte(log))
	}
	var all []string
	for _, topic := range schemas.Topics() {
		all = append(all, topic.Name)
	}
	inTopics := false
	for _, record := range nodes[0].recordsOf(all...) {
		inTopics = inTopics || bytes.Contains(record.Value, []byte(present))
		search(record.Topic, record.Key)
		search(record.Topic, record.Value)
		for _, header := range record.Headers {
			search(record.Topic, header.Value)
		}
	}
	require.True(t, inTopics)
	until(t, func() bool {
		return len(nodes[0].query("SELECT 1 FROM mintlake.key_usage_1m WHERE key = '"+present+"' LIMIT 1")) > 0
	}, 100*time.Millisecond, "usage is in the tables")
	for _, table := range nodes[0].query("SELECT concat('`', database, '`.`', name, '`') FROM system.tables WHERE database NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema') AND engine NOT LIKE '%View' FORMAT TSVRaw") {
		search(table, []byte(strings.Join(nodes[0].query("SELECT * FROM "+table+" FORMAT TSVRaw"), "\n")))
	}
	for _, folder := range folders {
		require.NoError(t, filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil // files come and go while it runs
			}
			if content, err := os.ReadFile(path); err == nil {
				search(path, content)
			}
			return nil
		}))
	}
}
