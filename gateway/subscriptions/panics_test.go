package subscriptions

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
)

// TestAPanicEndsItsConnectionOnly: other clients are served on.
func TestAPanicEndsItsConnectionOnly(t *testing.T) {
	f := start(t, Config{}, newUpstream())
	other := f.dial(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.Serve(w, r, "b", &keys.Lease{}) // a lease of no gate panics when a call is checked
	}))
	t.Cleanup(server.Close)
	conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { conn.CloseNow() })
	client{conn, t}.send(`{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"}`)
	_, _, err = conn.Read(t.Context())
	require.Error(t, err)
	require.EqualValues(t, 1, testutil.ToFloat64(f.metrics.panics))
	other.subscribe("slotSubscribe", "[]")
}

// TestAPanicInAReadOfAnAccount: the subscription goes on.
func TestAPanicInAReadOfAnAccount(t *testing.T) {
	a, b := newPubsub(t, 500), newPubsub(t, 900)
	u := newUpstream()
	u.buggy = true
	f := relaying(t, Config{}, u, a, b)
	c := f.dial(t)
	account := c.subscribe("accountSubscribe", `["x"]`)
	<-a.seen
	a.hangUp()
	<-b.seen
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.panics) == 1 }, patience, time.Millisecond)
	b.tell(t, notification("accountNotification", accountAt(10, 5), "900"))
	require.JSONEq(t, notification("accountNotification", accountAt(10, 5), account), c.read())
}
