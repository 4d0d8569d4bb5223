package jsonrpc

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/gateway/message"
)

func conditionsOf(w *world) string {
	var all []string
	for _, c := range w.pool.judge(time.Now()) {
		all = append(all, c.String())
	}
	return strings.Join(all, " ")
}

func TestUpstreamsAreChosenByTheirSlots(t *testing.T) {
	simulate(t, Config{}, 4, func(t *testing.T, w *world) {
		w.upstreams["a"].behave(80, phase{0, lagging}, phase{20 * time.Second, honest})
		w.upstreams["b"].behave(0, phase{0, boasting}, phase{20 * time.Second, honest})
		time.Sleep(5 * time.Second)
		require.Equal(t, "behind ahead well well", conditionsOf(w))
		for range 3 {
			require.Equal(t, http.StatusOK, w.call("getSlot", "[]").status)
		}
		require.Equal(t, []int{0, 0, 3, 0}, w.callsOf("getSlot"))
		time.Sleep(30 * time.Second)
		require.Equal(t, "well well well well", conditionsOf(w))
		w.call("getSlot", "[]")
		require.Equal(t, 1, w.upstreams["a"].calls("getSlot"))
	})
}

// Ten seconds behind are too many, in the slots that ten seconds have on this chain.
func TestLagIsJudgedByTheSlotTime(t *testing.T) {
	for slotTime, tenSeconds := range map[time.Duration]uint64{200 * time.Millisecond: 50, 400 * time.Millisecond: 25} {
		simulate(t, Config{}, 4, func(t *testing.T, w *world) {
			w.slotTime = slotTime
			w.upstreams["a"].behave(tenSeconds+6, phase{0, lagging})
			w.upstreams["b"].behave(tenSeconds-6, phase{0, lagging})
			w.upstreams["c"].behave(0, phase{0, honest}, phase{3 * time.Minute, boasting}, phase{4 * time.Minute, honest})
			require.EqualValues(t, 50, w.pool.maxLag(), "nothing is measured yet")
			for range 20 {
				w.call("getVersion", "[]")
				time.Sleep(30 * time.Second)
			}
			require.InDelta(t, tenSeconds, w.pool.maxLag(), 1)
			require.Equal(t, "behind well well well", conditionsOf(w))
		})
	}
	simulate(t, Config{MaxLagSlots: 3}, 1, func(t *testing.T, w *world) {
		time.Sleep(10 * time.Minute)
		require.EqualValues(t, 3, w.pool.maxLag(), "as configured")
	})
}

func (w *world) callsOf(method string) []int {
	var all []int
	for _, name := range w.names {
		all = append(all, w.upstreams[name].calls(method))
	}
	return all
}

func TestASingleUpstreamIsAlwaysChosen(t *testing.T) {
	simulate(t, Config{}, 1, func(t *testing.T, w *world) {
		w.upstreams["a"].behave(0, phase{0, frozen}, phase{5 * time.Second, boasting})
		for range 10 {
			time.Sleep(time.Second)
			require.Equal(t, "well", conditionsOf(w))
			require.Equal(t, http.StatusOK, w.call("getSlot", "[]").status)
		}
	})
}

func TestPollsBecomeRareWithoutCalls(t *testing.T) {
	simulate(t, Config{}, 1, func(t *testing.T, w *world) {
		slots := func() uint64 { slot, _ := w.pool.upstreams[0].slots.known(processed); return slot }
		w.call("getVersion", "[]")
		for range 50 {
			time.Sleep(w.slotTime)
			require.GreaterOrEqual(t, slots()+2, w.slot(processed, 0))
		}
		time.Sleep(2 * time.Minute)
		require.GreaterOrEqual(t, slots()+27, w.slot(processed, 0), "each 5 s")
		before := slots()
		time.Sleep(4 * time.Second)
		time.Sleep(2 * time.Second)
		require.Greater(t, slots(), before)
	})
}

func TestSlotsNeverGoBackInASession(t *testing.T) {
	simulate(t, Config{}, 2, func(t *testing.T, w *world) {
		w.upstreams["b"].behave(20, phase{0, lagging}) // within the bound
		time.Sleep(time.Second)
		mine := []string{SessionHeader, "mine"}
		const atConfirmed = `["x",{"commitment":"confirmed"}]`
		first := w.call("getBalance", atConfirmed, mine...)
		seen := first.slot(t)
		w.upstreams["a"].behave(0, phase{0, closed})

		// b is asked, has not got there yet, and the client is told so.
		behind := w.call("getBalance", atConfirmed, mine...)
		require.Equal(t, http.StatusOK, behind.status)
		var parsed struct {
			Error struct {
				Code int
				Data map[string]uint64
			}
		}
		require.NoError(t, json.Unmarshal([]byte(behind.body), &parsed), behind.body)
		require.Equal(t, codeMinContextSlot, parsed.Error.Code)
		require.Equal(t, seen, parsed.Error.Data["minContextSlot"])
		require.Contains(t, []uint64{w.slot(confirmed, 20), seen}, parsed.Error.Data["contextSlot"])

		// Answers that name no slot are refused alike, and so is a height; what is of no slot is
		// not.
		require.Equal(t, codeMinContextSlot, new(w.call("getTransaction", `["x",{"commitment":"confirmed"}]`, mine...)).code())
		require.Equal(t, codeMinContextSlot, new(w.call("getBlockHeight", `[{"commitment":"confirmed"}]`, mine...)).code())
		require.Zero(t, new(w.call("getVersion", `[]`, mine...)).code())
		// Another session, another commitment and no session have not seen that slot.
		require.Zero(t, new(w.call("getBalance", atConfirmed, SessionHeader, "other")).code())
		require.Zero(t, new(w.call("getBalance", `["x"]`, mine...)).code())
		require.Zero(t, new(w.call("getBalance", atConfirmed)).code())

		time.Sleep(20 * 400 * time.Millisecond)
		later := w.call("getBalance", atConfirmed, mine...)
		require.GreaterOrEqual(t, later.slot(t), seen)
		require.Zero(t, new(w.call("getTransaction", `["x",{"commitment":"confirmed"}]`, mine...)).code())
	})
}

func TestASessionIsForgotten(t *testing.T) {
	simulate(t, Config{}, 1, func(t *testing.T, w *world) {
		w.call("getSlot", "[]", SessionHeader, "mine")
		w.upstreams["a"].behave(0, phase{0, frozen})
		require.Equal(t, codeMinContextSlot, new(w.call("getSlot", "[]", SessionHeader, "mine")).code())
		time.Sleep(sessionAge + time.Second)
		require.Zero(t, new(w.call("getSlot", "[]", SessionHeader, "mine")).code())
		require.Equal(t, http.StatusBadRequest, w.call("getSlot", "[]", SessionHeader, strings.Repeat("x", 129)).status)
	})
}

func TestSessionsAreBounded(t *testing.T) {
	s := newSessions()
	for k := range 60 {
		for i := range sessionsPerKey + 10 {
			s.find(fmt.Sprint(k), fmt.Sprint(i))
		}
	}
	require.Equal(t, maxSessions, s.size())
	first := s.find("new", "a")
	require.Same(t, first, s.find("new", "a"))
	require.NotSame(t, first, s.find("other", "a"))
	require.Equal(t, maxSessions, s.size())
	for k := range 2 * maxSessions {
		s.find(fmt.Sprint("one of ", k), "a")
	}
	require.Equal(t, maxSessions, s.size(), "the sessions of a key that is forgotten are forgotten, too")
	require.Equal(t, maxSessions, s.keys.Len())
}

func TestMinContextSlotIsHonoured(t *testing.T) {
	simulate(t, Config{}, 2, func(t *testing.T, w *world) {
		w.upstreams["a"].behave(20, phase{0, lagging})
		time.Sleep(time.Second)
		least := w.slot(confirmed, 6)
		got := w.call("getBalance", fmt.Sprintf(`["x",{"commitment":"confirmed","minContextSlot":%d}]`, least))
		require.GreaterOrEqual(t, got.slot(t), least)
		require.Zero(t, w.upstreams["a"].calls("getBalance"), "it is known not to have it")
		got = w.call("getBalance", fmt.Sprintf(`["x",{"commitment":"confirmed","minContextSlot":%d}]`, least+100))
		require.Equal(t, codeMinContextSlot, got.code())
		require.Contains(t, got.body, fmt.Sprintf(`"minContextSlot":%d`, least+100))
	})
	simulate(t, Config{}, 1, func(t *testing.T, w *world) {
		got := w.call("getBalance", `["x",{"minContextSlot":1000000000}]`)
		require.Contains(t, got.body, `"data":{"contextSlot":999968}}`, "a single upstream's own words pass unchanged")
	})
}

func TestALatecomerIsHedged(t *testing.T) {
	run := func(share float64, want int) {
		simulate(t, Config{HedgeShare: share}, 2, func(t *testing.T, w *world) {
			for range 40 {
				w.call("getBalance", `["x"]`)
			}
			time.Sleep(quantileAge)
			w.upstreams["a"].wait(10 * time.Second)
			began := time.Now()
			got := w.call("getBalance", `["x"]`)
			require.Equal(t, http.StatusOK, got.status)
			require.Equal(t, want, w.upstreams["b"].calls("getBalance"))
			require.Equal(t, want == 1, time.Since(began) < time.Second)
			w.upstreams["a"].wait(5 * time.Millisecond)
			time.Sleep(time.Minute)
		})
	}
	run(0.1, 1)
	run(0, 0)
	run(0.001, 0)
}

func TestATransactionGoesToSeveralUpstreams(t *testing.T) {
	simulate(t, Config{SendUpstreams: 2}, 3, func(t *testing.T, w *world) {
		w.upstreams["b"].wait(300 * time.Millisecond)
		params, signature := transaction(1)
		got := w.call("sendTransaction", params)
		require.Contains(t, got.body, `"result":"`+signature+`"`)
		time.Sleep(time.Second)
		require.Equal(t, []int{1, 1, 0}, w.callsOf("sendTransaction"), "the second one got it although the first was faster")

		// The first takes it and loses its answer; the second says that the chain has it.
		w.upstreams["a"].behave(0, phase{0, losing})
		params, signature = transaction(2)
		got = w.call("sendTransaction", params)
		require.Equal(t, http.StatusOK, got.status)
		require.Contains(t, got.body, `"result":"`+signature+`"`)
	})
}

func TestALostAnswerIsUnknownAndNotFailed(t *testing.T) {
	for m, want := range map[mood]int{losing: codeUnknown, truncating: codeUnknown, halving: codeUnknown, failing: codeUnknown, hanging: codeUnknown,
		closed: message.CodeUnavailable, limiting: message.CodeUnavailable, sick: message.CodeUnavailable} {
		simulate(t, Config{}, 1, func(t *testing.T, w *world) {
			w.upstreams["a"].behave(0, phase{0, m})
			params, signature := transaction(1)
			got := w.call("sendTransaction", params)
			require.Equal(t, want, got.code(), got.body)
			if want == codeUnknown {
				require.Equal(t, http.StatusGatewayTimeout, got.status)
				require.Contains(t, got.body, `"data":{"outcome":"unknown","signature":"`+signature+`"}`)
			}
			airdrop := w.call("requestAirdrop", `["x",1]`)
			require.Equal(t, want, airdrop.code(), airdrop.body)
		})
	}
}

func TestAnAirdropIsMadeAtAnotherUpstreamOnlyIfItCannotHaveBeenMade(t *testing.T) {
	for m, want := range map[mood]int{losing: 0, truncating: 0, failing: 0, hanging: 0, closed: 1, limiting: 1} {
		simulate(t, Config{}, 2, func(t *testing.T, w *world) {
			w.upstreams["a"].behave(0, phase{0, m})
			w.call("requestAirdrop", `["x",1]`)
			require.Equal(t, want, w.upstreams["b"].calls("requestAirdrop"), m)
			require.LessOrEqual(t, w.airdrops[`["x",1]`], 1)
		})
	}
}

func TestIdenticalReadsShareACall(t *testing.T) {
	simulate(t, Config{ShareReads: true}, 1, func(t *testing.T, w *world) {
		w.upstreams["a"].wait(100 * time.Millisecond)
		for _, method := range []string{"getBalance", "getMultipleAccounts"} {
			var all sync.WaitGroup
			for i := range 50 {
				all.Go(func() {
					got := w.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":"caller %d","method":%q,"params":["x"]}`, i, method))
					require.Equal(t, http.StatusOK, got.status)
					require.True(t, json.Valid([]byte(got.body)))
					require.True(t, strings.HasSuffix(got.body, fmt.Sprintf(`"id":"caller %d"}`, i)), "each has its own id")
				})
			}
			all.Wait()
			require.Equal(t, 1, w.upstreams["a"].calls(method), method)
			w.call(method, `["x"]`)
			require.Equal(t, 2, w.upstreams["a"].calls(method), "only while it is on its way")
		}
	})
}

// A session that has seen a later slot refuses an answer that is good for those without a session.
func TestASessionsRefusalIsItsOwn(t *testing.T) {
	simulate(t, Config{ShareReads: true}, 1, func(t *testing.T, w *world) {
		const at = `["x",{"commitment":"confirmed"}]`
		w.call("getVersion", "[]")
		w.upstreams["a"].wait(time.Second)
		var mine, other reply
		var both sync.WaitGroup
		both.Go(func() { mine = w.call("getBalance", at, SessionHeader, "mine") })
		time.Sleep(100 * time.Millisecond)
		both.Go(func() { other = w.call("getBalance", at) })
		time.Sleep(100 * time.Millisecond)
		// As another call of the session does.
		later := answerSlot{slot: w.slot(confirmed, 0) + 1000, hasSlot: true}
		require.True(t, w.sessions.find(keys.OpenID, "mine").admit(confirmed, later, 0))
		both.Wait()
		require.Equal(t, codeMinContextSlot, mine.code())
		require.Zero(t, other.code(), other.body)
	})
}

func TestOnlyFinalizedAnswersAreKept(t *testing.T) {
	simulate(t, Config{CacheBytes: 1 << 20}, 1, func(t *testing.T, w *world) {
		for method, params := range map[string]string{"getBlock": "[5]", "getTransaction": `["x",{"encoding":"json"}]`, "getGenesisHash": "[]"} {
			want := w.call(method, params)
			for range 3 {
				require.Equal(t, want.body, new(w.call(method, params)).body)
			}
			require.Equal(t, 1, w.upstreams["a"].calls(method))
		}
		for range 3 {
			w.call("getBlock", `[5,{"commitment":"confirmed"}]`)
			w.call("getBlockHeight", `[]`)
		}
		require.Equal(t, 4, w.upstreams["a"].calls("getBlock"))
		require.Equal(t, 3, w.upstreams["a"].calls("getBlockHeight"))
	})
	c := newCache(1 << 20)
	big := &answer{head: []byte(`{"jsonrpc":"2.0","result":"`), rest: respond(200, strings.Repeat("a", 100_000)+`","id":1}`, nil).Body}
	c.keep("big", big)
	_, err := io.Copy(io.Discard, big.rest)
	require.NoError(t, err)
	require.Len(t, c.get("big"), 100_002)
	for i := range 1000 {
		c.put(fmt.Sprint(i), json.RawMessage(`"`+strings.Repeat("b", 10_000)+`"`))
	}
	require.LessOrEqual(t, c.bytes(), 1<<20)
	c.put("null", json.RawMessage("null"))
	require.Nil(t, c.get("null"))
}

func TestASlowCallDoesNotHoldItsBatch(t *testing.T) {
	simulate(t, Config{}, 1, func(t *testing.T, w *world) {
		var calls, want []string
		for i := range 100 {
			calls = append(calls, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"getIdentity"}`, i))
			want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","result":"getIdentity","id":%d}`, i))
		}
		began := time.Now()
		got := w.post("[" + strings.Join(calls, ",") + "]")
		require.Equal(t, "["+strings.Join(want, ",")+"]", got.body)
		require.Less(t, time.Since(began), 100*time.Millisecond, "16 at a time, 5 ms each")
		got = w.post(`[{"jsonrpc":"2.0","id":1,"method":"getBalance"},{"jsonrpc":"2.0","method":"getIdentity"}]`)
		require.Equal(t, 1, strings.Count(got.body, "jsonrpc"), "a notification has no answer")
		w.upstreams["a"].behave(0, phase{0, sick}) // it answers every call with id 1
		got = w.post(`[{"jsonrpc":"2.0","id":"x","method":"getBalance"}]`)
		require.True(t, strings.HasSuffix(got.body, `"id":"x"}]`), got.body)
	})
}
