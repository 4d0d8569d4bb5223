package pace

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// run asks a host as fast as its pace allows. serve tells how long a request takes and how it ends.
// It returns how many requests of each minute were answered.
func run(h *Host, minutes int, serve func(now time.Time, active int) (time.Duration, Outcome)) (answered []int, refused int) {
	type request struct {
		began, ends time.Time
		outcome     Outcome
	}
	now, start := time.Unix(0, 0), time.Unix(0, 0)
	answered = make([]int, minutes)
	var active []request
	for now.Sub(start) < time.Duration(minutes)*time.Minute {
		first := -1
		for i, r := range active {
			if first < 0 || r.ends.Before(active[first].ends) {
				first = i
			}
		}
		wait := h.Wait(now)
		if first >= 0 && (wait < 0 || !active[first].ends.After(now.Add(wait))) {
			r := active[first]
			now = r.ends
			active = append(active[:first], active[first+1:]...)
			h.Done(r.began, now, r.outcome)
			switch minute := int(now.Sub(start).Minutes()); {
			case r.outcome.Refused:
				refused++
			case !r.outcome.Failed && minute < minutes:
				answered[minute]++
			}
			continue
		}
		now = now.Add(wait)
		took, outcome := serve(now, len(active))
		active = append(active, request{now, now.Add(took), outcome})
		h.Begin(now)
	}
	return answered, refused
}

// TestARefusingHostIsAskedAsFastAsItBears, whatever it bears, with bursts of half a second or ten
// seconds, and with and without Retry-After.
func TestARefusingHostIsAskedAsFastAsItBears(t *testing.T) {
	for _, bears := range []float64{0.5, 3, 27, 100, 400} {
		for _, burst := range []float64{0.5, 10} {
			for _, pause := range []time.Duration{0, time.Second, 10 * time.Second} {
				name := fmt.Sprintf("%g a second, burst of %gs, pause %s", bears, burst, pause)
				tokens, last := 0.0, time.Time{}
				minutes := 60
				if bears > 50 {
					minutes = 15
				}
				answered, refused := run(NewHost(256), minutes, func(now time.Time, _ int) (time.Duration, Outcome) {
					tokens = min(tokens+min(now.Sub(last).Seconds(), 1e6)*bears, max(burst*bears, 1))
					last = now
					if tokens < 1 {
						return 20 * time.Millisecond, Outcome{Refused: true, Pause: pause}
					}
					tokens--
					return 80 * time.Millisecond, Outcome{}
				})
				sum := 0
				for _, n := range answered {
					sum += n
				}
				require.GreaterOrEqual(t, float64(sum), 0.8*bears*60*float64(minutes), name)
				require.LessOrEqual(t, float64(refused), 40+0.01*float64(sum), name)
			}
		}
	}
}

// TestASlowHostIsAskedAsFastAsItAnswers: it has some servers, and what they do not get to waits.
func TestASlowHostIsAskedAsFastAsItAnswers(t *testing.T) {
	for _, servers := range []int{1, 4, 20} {
		for _, service := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, 2 * time.Second} {
			name := fmt.Sprintf("%d servers, %s", servers, service)
			free := make([]time.Time, servers)
			longest := time.Duration(0)
			answered, _ := run(NewHost(256), 30, func(now time.Time, _ int) (time.Duration, Outcome) {
				first := 0
				for i := range free {
					if free[i].Before(free[first]) {
						first = i
					}
				}
				free[first] = maxTime(free[first], now).Add(service)
				longest = max(longest, free[first].Sub(now))
				return free[first].Sub(now), Outcome{}
			})
			sum := 0
			for _, n := range answered[2:] {
				sum += n
			}
			bears := min(float64(servers)/service.Seconds(), mostRate)
			require.GreaterOrEqual(t, float64(sum), 0.8*bears*28*60, name)
			require.Less(t, longest, 20*service+2*time.Second, name)
		}
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// TestAHostThatBearsMoreIsAskedFaster, and one that bears less is asked more slowly at once.
func TestAHostThatBearsMoreIsAskedFaster(t *testing.T) {
	tokens, last := 0.0, time.Time{}
	start := time.Unix(0, 0)
	answered, _ := run(NewHost(256), 120, func(now time.Time, _ int) (time.Duration, Outcome) {
		bears := 20.0
		if minute := now.Sub(start).Minutes(); minute >= 20 && minute < 80 {
			bears = 80
		}
		tokens = min(tokens+min(now.Sub(last).Seconds(), 1e6)*bears, bears)
		last = now
		if tokens < 1 {
			return 20 * time.Millisecond, Outcome{Refused: true, Pause: time.Second}
		}
		tokens--
		return 50 * time.Millisecond, Outcome{}
	})
	require.GreaterOrEqual(t, answered[10], 960)
	require.GreaterOrEqual(t, answered[70], 60*64, "within fifty minutes")
	require.LessOrEqual(t, answered[85], 60*21)
	require.GreaterOrEqual(t, answered[110], 900)
}

// TestAFailingHostIsAskedLess: it fails at more than it bears, and says nothing else.
func TestAFailingHostIsAskedLess(t *testing.T) {
	tokens, last := 0.0, time.Time{}
	failed := 0
	answered, _ := run(NewHost(64), 60, func(now time.Time, _ int) (time.Duration, Outcome) {
		tokens = min(tokens+min(now.Sub(last).Seconds(), 1e6)*40, 40)
		last = now
		if tokens < 1 {
			failed++
			return time.Second, Outcome{Failed: true}
		}
		tokens--
		return 50 * time.Millisecond, Outcome{}
	})
	require.GreaterOrEqual(t, answered[50], 60*32)
	require.Less(t, failed, 60*60*40/8)
}

// TestWaitsAndPauses: requests are spaced, few are under way to a stranger, a pause is kept, and a
// request that was not made costs no time.
func TestWaitsAndPauses(t *testing.T) {
	now := time.Unix(0, 0)
	h := NewHost(64)
	for range leastAllowed {
		now = now.Add(max(h.Wait(now), 0))
		h.Begin(now)
	}
	require.Negative(t, h.Wait(now.Add(time.Hour)))
	h.Done(now, now, Outcome{Unasked: true})
	require.Zero(t, h.Wait(now))
	h.Begin(now)
	h.Done(now, now, Outcome{Refused: true, Pause: time.Minute})
	require.Equal(t, time.Minute, h.Wait(now))
	require.Less(t, h.Rate(), float64(startRate))
	h.Done(now.Add(-time.Second), now, Outcome{Refused: true})
	require.Equal(t, time.Minute, h.Wait(now), "a shorter pause does not end it")
	h.Done(now.Add(-time.Second), now, Outcome{Unasked: true, Pause: time.Second})
	require.GreaterOrEqual(t, h.Wait(now), time.Second)
}

// TestAnyOutcomesKeepThePaceWithinItsBounds.
func TestAnyOutcomesKeepThePaceWithinItsBounds(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 36))
		most := 1 + r.IntN(100)
		h := NewHost(most)
		run(h, 20, func(_ time.Time, active int) (time.Duration, Outcome) {
			require.Less(t, active, most)
			require.LessOrEqual(t, h.Rate(), float64(mostRate))
			require.GreaterOrEqual(t, h.Rate(), leastRate)
			return time.Duration(1 + r.Int64N(int64(3*time.Second))), Outcome{
				Refused: r.IntN(20) == 0, Failed: r.IntN(9) == 0, Pause: time.Duration(r.Int64N(int64(5 * time.Second))),
			}
		})
	}
}
