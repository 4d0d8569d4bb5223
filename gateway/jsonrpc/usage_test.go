package jsonrpc

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/usagetest"
)

// Each call counts under its method, in a batch too, with the bytes of its answer.
func TestCallsCountAsUsageOfTheirKey(t *testing.T) {
	meter := usagetest.New(t)
	store, issuer := issuingTo(t, meter.Meter)
	key, _, err := issuer.Create(t.Context(), "", keys.RPC, "alice", "", keys.Rules{})
	require.NoError(t, err)
	f := startWith(t, Config{Upstreams: []string{newNode(t, says(slot7)).URL}}, store)
	f.key = key
	status, single, _ := f.respond(t, getSlot(1))
	require.Equal(t, http.StatusOK, status)
	status, _, _ = f.respond(t, "["+getSlot(1)+","+strings.Replace(getSlot(2), "getSlot", "getBlock", 1)+","+strings.Replace(getSlot(3), "getSlot", "inventedByTheClient", 1)+",7]")
	require.Equal(t, http.StatusOK, status)
	status, _, _ = f.respond(t, getSlot(1), "X-API-KEY", "wrong")
	require.Equal(t, http.StatusUnauthorized, status)
	require.Eventually(t, func() bool { return meter.Totals()["rpc alice other"].GetBytes() > 0 }, time.Minute, 10*time.Millisecond,
		"bytes count once they are written")
	totals := meter.Totals()
	require.Len(t, totals, 3, "what nobody is known for counts for nobody")
	slots := totals["rpc alice getSlot"]
	require.Equal(t, []uint64{2, 2, 0}, []uint64{slots.GetRequests(), slots.GetUnits(), slots.GetRefused()})
	require.Equal(t, 2*uint64(len(single)), slots.GetBytes())
	require.Equal(t, uint64(scanUnits), totals["rpc alice getBlock"].GetUnits())
	require.Equal(t, uint64(1), totals["rpc alice other"].GetRequests())
}

// docs/keys.md names exactly the methods that weigh more than others.
func TestThePageNamesTheMethodsThatWeighMore(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "keys.md"))
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| `units` \\|.*; 10 for calls that [^(]*\\(([^)]*)\\)").FindSubmatch(page)
	require.NotNil(t, row)
	var named, charged []string
	for _, name := range regexp.MustCompile("`([^`]+)`").FindAllSubmatch(row[1], -1) {
		named = append(named, string(name[1]))
	}
	for name := range table {
		if unitsOf(name) == scanUnits {
			charged = append(charged, name)
		}
	}
	require.ElementsMatch(t, charged, named)
}

// An upstream's errors count as requests, and their bytes do not count.
func TestBytesOfErrorsDoNotCount(t *testing.T) {
	meter := usagetest.New(t)
	store, issuer := issuingTo(t, meter.Meter)
	key, _, err := issuer.Create(t.Context(), "", keys.RPC, "alice", "", keys.Rules{})
	require.NoError(t, err)
	f := startWith(t, Config{Upstreams: []string{newNode(t, says(`{"jsonrpc":"2.0","error":{"code":-32602,"message":"no"},"id":1}`)).URL}}, store)
	f.key = key
	_, body, _ := f.respond(t, getSlot(1))
	require.Contains(t, body, "-32602")
	require.Eventually(t, func() bool { return f.calls.Taken() == 0 }, time.Minute, 10*time.Millisecond, "the call is over")
	slots := meter.Totals()["rpc alice getSlot"]
	require.Equal(t, []uint64{1, 0}, []uint64{slots.GetRequests(), slots.GetBytes()})
}

// What a key's rules and limits refuse counts as refused, not as requests.
func TestRefusedCallsCountApart(t *testing.T) {
	meter := usagetest.New(t)
	store, issuer := issuingTo(t, meter.Meter)
	key, _, err := issuer.Create(t.Context(), "", keys.RPC, "alice", "", keys.Rules{Methods: []string{"getSlot"}, RequestsPerSecond: 1})
	require.NoError(t, err)
	f := startWith(t, Config{Upstreams: []string{newNode(t, says(slot7)).URL}}, store)
	f.key = key
	status, _, _ := f.respond(t, strings.Replace(getSlot(2), "getSlot", "getBlock", 1))
	require.Equal(t, http.StatusForbidden, status)
	status, _, _ = f.respond(t, getSlot(1))
	for status == http.StatusOK { // a machine that stands still earns a call
		status, _, _ = f.respond(t, getSlot(1))
	}
	require.Equal(t, http.StatusTooManyRequests, status)
	totals := meter.Totals()
	require.Equal(t, []uint64{0, 1}, []uint64{totals["rpc alice getBlock"].GetRequests(), totals["rpc alice getBlock"].GetRefused()})
	require.Equal(t, uint64(1), totals["rpc alice getSlot"].GetRefused())
	require.NotContains(t, totals, "rpc alice other")
}
