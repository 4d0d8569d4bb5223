package e2e

import (
	"bytes"
	"encoding/base64"
	endian "encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// liar is a JSON-RPC server in front of an honest one. While it lies, all supplies are wrong, at
// slots that are right.
type liar struct {
	*httptest.Server
	lying atomic.Bool
	lies  atomic.Int64
}

func startLiar(t testing.TB, honest string) *liar {
	t.Helper()
	target, err := url.Parse(honest)
	require.NoError(t, err)
	l := &liar{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(response *http.Response) error {
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		if l.lying.Load() {
			body = l.lie(body)
		}
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		response.Header.Set("Content-Length", fmt.Sprint(len(body)))
		return nil
	}
	l.Server = httptest.NewServer(proxy)
	t.Cleanup(l.Close)
	return l
}

// lie changes the supplies in an answer of getMultipleAccounts, and nothing in any other.
func (l *liar) lie(body []byte) []byte {
	var answer struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  struct {
			Context json.RawMessage   `json:"context"`
			Value   []json.RawMessage `json:"value"`
		} `json:"result"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Result.Value == nil {
		return body
	}
	for i := range answer.Result.Value {
		var account map[string]any
		if json.Unmarshal(answer.Result.Value[i], &account) != nil || account == nil {
			continue
		}
		owner, _ := account["owner"].(string)
		parts, _ := account["data"].([]any)
		if !strings.HasPrefix(owner, "Token") || len(parts) != 2 {
			continue
		}
		text, _ := parts[0].(string)
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(data) < 82 {
			continue
		}
		endian.LittleEndian.PutUint64(data[36:], endian.LittleEndian.Uint64(data[36:])^0x5a5a5a)
		account["data"] = []string{base64.StdEncoding.EncodeToString(data), "base64"}
		if answer.Result.Value[i], err = json.Marshal(account); err != nil {
			return body
		}
		l.lies.Add(1)
	}
	lied, err := json.Marshal(answer)
	if err != nil {
		return body
	}
	return lied
}

// TestALieIsTakenBack: a node whose only upstream lied at plausible slots keeps wrong supplies.
// `mintlake repair facts` puts them right, in ClickHouse and in the API; its root is then that of a
// node that was never lied to.
func TestALieIsTakenBack(t *testing.T) {
	t.Parallel()
	node := startChain(t)
	l := startLiar(t, node.RPCURL())
	l.lying.Store(true)
	began := time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	lied := launch(t, t.TempDir(), "--source", "geyser+http://"+node.GeyserAddr(), "--rate-limits-enabled=false", "--rpc-upstream", l.URL)
	enough := goOn(t, node)
	audit := func(up *instance) (string, error) {
		out, err := exec.Command(binary, "audit", "--sample", "0", "--min-accuracy", "1", "--min-known", "0.9", "--wait", "0",
			"--clickhouse-dsn", up.addresses["clickhouse"], "--rpc-upstream", node.RPCURL()).CombinedOutput()
		return string(out), err
	}
	until(t, func() bool { return l.lies.Load() > 100 }, 100*time.Millisecond, "lies")
	lied.awaitStill(enough())
	l.lying.Store(false)
	out, err := audit(lied)
	require.Error(t, err, "%s", out)

	// The chain goes on: a read at a slot that is taken back is not believed either.
	require.NoError(t, node.Step(5))
	node.Ledger().Settle()
	last := lied.awaitStill(node.Slot() - 5)
	repair := func(args ...string) string {
		args = append([]string{"repair", "facts", "--kafka-brokers", lied.addresses["kafka"], "--read-from", began}, args...)
		out, err := exec.Command(binary, args...).CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	require.Contains(t, repair(), "nothing is written; --yes takes them back")
	out, err = audit(lied)
	require.Error(t, err, "%s", out)
	require.Contains(t, repair("--yes"), "taken back; ")
	repaired := time.Now()
	until(t, func() bool { out, err = audit(lied); return err == nil }, 100*time.Millisecond, &out)
	t.Logf("all supplies are right %s after the repair", time.Since(repaired).Round(time.Millisecond))

	blocks := fmt.Sprintf("rpc+%s?from=%d&to=%d", strings.TrimSuffix(node.RPCURL(), "/"), lied.first(), last)
	honest := launch(t, t.TempDir(), "--source", blocks, "--rpc-upstream", node.RPCURL())
	honest.awaitDone()
	until(t, func() bool { out, err = audit(honest); return err == nil }, 100*time.Millisecond, &out)
	require.Equal(t, wholeRoot(t, honest), wholeRoot(t, lied))
	supplies := "SELECT mint, supply FROM mintlake.tokens WHERE supply IS NOT NULL ORDER BY mint FORMAT TSV"
	require.Equal(t, honest.query(supplies), lied.query(supplies))
	shown := func(up *instance, mint string) string {
		_, body := up.get("/tokens/" + mint)
		var token struct{ Supply *string }
		require.NoError(t, json.Unmarshal(body, &token), string(body))
		if token.Supply == nil {
			return ""
		}
		return *token.Supply
	}
	for _, row := range lied.query(supplies) {
		mint, supply, _ := strings.Cut(row, "\t")
		until(t, func() bool { return shown(lied, mint) == supply }, 100*time.Millisecond, mint)
	}
	require.Zero(t, lied.stop(), lied.log())
	require.Zero(t, honest.stop(), honest.log())
}

// wholeRoot is what `mintlake root` says of all that is in the log, without its slot: that of the
// last read differs.
func wholeRoot(t testing.TB, i *instance) string {
	t.Helper()
	out, err := exec.Command(binary, "root", "--kafka-brokers", i.addresses["kafka"]).CombinedOutput()
	require.NoError(t, err, string(out))
	match := rootLine.FindSubmatch(out)
	require.NotNil(t, match, string(out))
	return string(match[1])
}
