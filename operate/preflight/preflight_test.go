package preflight

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/operate/sizing"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func of(t *testing.T, report *Report, name string) Check {
	t.Helper()
	for _, c := range report.Checks {
		if c.Name == name {
			return c
		}
	}
	require.Fail(t, "no check", "%s in %+v", name, report.Checks)
	return Check{}
}

// TestHostileServersEndNothing: what a server does or says, there is a report in time.
func TestHostileServersEndNothing(t *testing.T) {
	for name, hostile := range map[string]struct {
		answer http.HandlerFunc
		found  string
	}{
		"silent": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer in time"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
					return
				}
			}
		}, "over the"},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("\x1b[2J{")) }, "malformed"},
		"steering": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"\u001b]0;x\u0007\u202eowned%s"}}`, strings.Repeat("x", 4000))
		}, "owned"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(hostile.answer)
			defer server.CloseClientConnections()
			begin := time.Now()
			report, err := Run(t.Context(), Config{Source: source.Spec{Kind: source.KindRPC, Endpoint: server.URL + "/?api-key=secret"}, Upstreams: []string{server.URL + "/secret"}, Wait: 300 * time.Millisecond}, nil)
			require.NoError(t, err)
			require.Less(t, time.Since(begin), time.Minute)
			require.ErrorIs(t, report.Err(), ErrFails)
			for _, c := range []Check{of(t, report, "source.reach"), of(t, report, "upstream.reach")} {
				require.Equal(t, Fails, c.State)
				require.Contains(t, c.Found, hostile.found)
				require.LessOrEqual(t, len(c.Found), 2*maxSaid)
			}
			var text, asJSON strings.Builder
			require.NoError(t, Print(&text, report))
			require.NoError(t, PrintJSON(&asJSON, report))
			for _, out := range []string{text.String(), asJSON.String()} {
				require.NotContains(t, out, "secret")
				require.NotContains(t, out, "\x1b")
				require.NotContains(t, out, "\u202e")
			}
		})
	}
}

func TestAGeyserServerThatIsSilent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for {
			if _, err := listener.Accept(); err != nil {
				return
			}
		}
	}()
	report, err := Run(t.Context(), Config{Source: source.Spec{Kind: source.KindGeyser, Endpoint: "http://" + listener.Addr().String()}, Commitment: "confirmed", Wait: 300 * time.Millisecond}, nil)
	require.NoError(t, err)
	require.Equal(t, Fails, of(t, report, "source.reach").State)
	missing := of(t, report, "upstream")
	require.Equal(t, Less, missing.State)
	require.Contains(t, missing.Means, "the swap API finds no pools")
}

func TestSourcesWithoutAnEndpointAreRefused(t *testing.T) {
	_, err := Run(t.Context(), Config{Source: source.Spec{Kind: source.KindFile}}, nil)
	require.ErrorContains(t, err, "has no endpoint to ask")
	_, err = Run(t.Context(), Config{Source: source.Spec{Kind: source.KindGeyser}, For: time.Hour}, nil)
	require.ErrorContains(t, err, "must be 0 to 10m")
}

// TestADayOfCalls: reads share calls, and no more calls are made than are allowed.
func TestADayOfCalls(t *testing.T) {
	cfg := Config{Upstreams: []string{"https://a"}, Use: Use{RereadCalls: 5, Gateway: true, Documents: true, MissingPerMinute: 120_000, Tokens: 2_000_000, HostRate: 10}}
	s := &Sample{Seconds: 60, Slots: 299, Units: sizing.Rates{sizing.Leg: 1000}, Routes: 0, ChangedReads: 60, Topics: map[string]int64{"chain.swaps.v1": 300}}
	f := forecast(cfg, s)
	require.InDelta(t, 299*1440, f.Units[sizing.Slot], 1)
	calls := map[string]float64{}
	for _, c := range f.Calls {
		calls[c.For] = c.Day
	}
	require.InDelta(t, 69_120, calls["the gateway, without callers"], 1)
	require.InDelta(t, 2_880, calls["which chain it is"], 1)
	require.InDelta(t, 41_006, calls["changed mints"], 1, "60 reads a minute come in 54 of its 299 slots, and the first of a call waits a second for others")
	require.InDelta(t, 0.926, f.BacklogDays, 0.001, "the host with 40 % decides")
	cfg.MissingPerMinute = 60
	require.InDelta(t, 23.15, forecast(cfg, s).BacklogDays, 0.01, "or the setting")
	require.InDelta(t, 299*1440, f.Disk[0].Kafka, 1)
	require.InDelta(t, 30*299*1440, f.Disk[3].Kafka, 100, "swaps are kept for 30 days")

	s.ChangedReads = 1e9
	f = forecast(cfg, s)
	require.InDelta(t, 432_000, f.Calls[1].Day, 1, "enrich.reread_calls is the most")
	cfg.Upstreams = append(cfg.Upstreams, "https://b")
	require.InDelta(t, 864_000, forecast(cfg, s).Calls[1].Day, 1, "a second upstream is asked about the same mints")
	cfg.Upstreams = nil
	require.Empty(t, forecast(cfg, s).Calls)
}

func TestReadsOfASlotShareACall(t *testing.T) {
	const slots = secondsADay
	require.InDelta(t, slots, batches(30*slots, slots, 50, 0), 1, "each slot has some")
	require.InDelta(t, slots/2, batches(20*slots, slots, 50, 1), 1, "and every second one waits with the one before it")
	require.InDelta(t, 2*slots, batches(100*slots, slots, 50, 0), 1, "a call bears 50")
	require.InDelta(t, 100, batches(100, slots, 50, 0), 1, "few come alone")
}

func TestAMintThatKeepsChangingIsReadOnceAMinute(t *testing.T) {
	s := newScale(10*time.Second, time.Minute)
	begin := time.Unix(1_000_000, 0)
	for second := range 180 {
		s.event("hot", nil, begin.Add(time.Duration(second)*time.Second))
	}
	s.event("once", nil, begin.Add(100*time.Second))
	s.event("twice", nil, begin)
	s.event("twice", nil, begin.Add(30*time.Second))
	require.InDelta(t, 3+1+2, s.sample(begin.Add(180*time.Second)).ChangedReads, 0.1)
}

// TestDocumentsOfUnnamedMintsCount: a Metaplex update names only its account, and a document.
func TestDocumentsOfUnnamedMintsCount(t *testing.T) {
	s := newScale(10*time.Second, time.Minute)
	for mint, uri := range map[string]string{"": "https://a.example/1.json\x00\x00", "mint": "https://a.example/2.json"} {
		value, err := proto.Marshal(&eventspb.TokenEvent{Mint: []byte(mint), Payload: &eventspb.TokenEvent_MetadataSet{MetadataSet: &eventspb.MetadataSet{Uri: []byte(uri)}}})
		require.NoError(t, err)
		s.event(mint, value, time.Unix(1_000_000, 0))
		s.event(mint, value, time.Unix(1_000_001, 0))
	}
	require.InDelta(t, 2, s.sample(time.Unix(1_000_002, 0)).Documents, 0)
}
