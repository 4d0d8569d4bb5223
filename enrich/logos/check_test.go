package logos

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/imageload"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func TestALogosLife(t *testing.T) {
	w := newWorld()
	w.start(t)
	w.document(t, "a", "https://a.test/1")
	first := w.await(t, "a", 1)[0]
	require.Equal(t, registry.LogoOK, w.status(t, "a"))
	key := good("x").Key
	require.Equal(t, key[:], first.GetContentHash())
	require.EqualValues(t, 1, first.GetPerceptualHash())
	week := 7 * 24 * time.Hour
	require.InDelta(t, float64(week), float64(time.UnixMilli(first.GetNextCheckAtMs()).Sub(time.UnixMilli(first.GetCheckedAtMs()))), float64(week)/5)

	// At its next check the server confirms.
	w.mu.Lock()
	w.serve = func(request imageload.Request) (*imageload.Image, error) {
		if request.ETag != `"x"` {
			return fails(fetch.ClassBadURL)
		}
		return &imageload.Image{NotModified: true}, nil
	}
	w.mu.Unlock()
	w.pass(2 * week)
	second := w.await(t, "a", 2)[1]
	require.Equal(t, []any{eventspb.LogoStatus_LOGO_STATUS_OK, key[:], uint64(2)}, []any{second.GetStatus(), second.GetContentHash(), second.GetCheck()})

	// Then it is gone: broken, what was good is kept, and each next look is later than the last.
	w.mu.Lock()
	w.serve = func(imageload.Request) (*imageload.Image, error) {
		return nil, &fetch.Error{Class: fetch.ClassHTTPStatus, Status: 404}
	}
	w.mu.Unlock()
	w.pass(2 * week)
	waits := time.Duration(0)
	for n := 3; n < 7; n++ {
		check := w.await(t, "a", n)[n-1]
		require.Equal(t, registry.LogoBroken, w.status(t, "a"))
		require.Equal(t, []any{"http_status", uint32(404), key[:], uint32(n - 2)},
			[]any{check.GetErrorClass(), check.GetHttpStatus(), check.GetContentHash(), check.GetFailures()})
		wait := time.UnixMilli(check.GetNextCheckAtMs()).Sub(time.UnixMilli(check.GetCheckedAtMs()))
		require.Greater(t, wait, waits)
		waits = wait
		w.pass(wait + time.Second)
	}

	// And comes back as another picture.
	w.mu.Lock()
	w.serve = func(imageload.Request) (*imageload.Image, error) { return good("another"), nil }
	w.mu.Unlock()
	w.pass(week)
	require.Eventually(t, func() bool { return w.status(t, "a") == registry.LogoOK }, 30*time.Second, time.Millisecond)
	list := w.checks(t, "a")
	key = good("another").Key
	require.Equal(t, key[:], list[len(list)-1].GetContentHash())
	require.Zero(t, list[len(list)-1].GetFailures())

	// A new URL is unchecked until it was looked at.
	w.mu.Lock()
	release := make(chan struct{})
	w.serve = func(imageload.Request) (*imageload.Image, error) { <-release; return fails(fetch.ClassNotImage) }
	w.mu.Unlock()
	w.document(t, "a", "https://a.test/2")
	require.Eventually(t, func() bool { return w.loaded("https://a.test/2") == 1 }, 30*time.Second, time.Millisecond)
	require.Equal(t, registry.LogoUnchecked, w.status(t, "a"))
	close(release)
	last := w.await(t, "a", len(list)+1)[len(list)]
	require.Equal(t, registry.LogoBroken, w.status(t, "a"))
	require.Empty(t, last.GetContentHash(), "what was good under another URL is not this one's")
}

func TestFailuresThatMayPassGetMoreAttempts(t *testing.T) {
	w := newWorld()
	var mu sync.Mutex
	tries := map[string]int{}
	w.serve = func(request imageload.Request) (*imageload.Image, error) {
		mu.Lock()
		defer mu.Unlock()
		tries[request.URL]++
		switch n := tries[request.URL]; request.URL {
		case "https://a.test/flaky":
			if n < 3 {
				return fails(fetch.ClassTimeout)
			}
		case "https://a.test/dead":
			return fails(fetch.ClassTimeout)
		case "https://a.test/page":
			return fails(fetch.ClassNotImage)
		case "https://a.test/busy":
			if n < 8 {
				return nil, &fetch.Error{Class: fetch.ClassHostPaused, RetryAfter: time.Millisecond}
			}
		case "https://a.test/limited":
			if n < 8 {
				return nil, &fetch.Error{Class: fetch.ClassHTTPStatus, Status: 429, RetryAfter: time.Millisecond}
			}
		}
		return good("x"), nil
	}
	w.start(t)
	want := map[string]struct {
		status string
		tries  int
	}{
		"flaky": {registry.LogoOK, 3}, "dead": {registry.LogoBroken, 3}, "page": {registry.LogoBroken, 1},
		"busy": {registry.LogoOK, 8}, "limited": {registry.LogoOK, 8},
	}
	for name := range want {
		w.document(t, name, "https://a.test/"+name)
	}
	for name, expected := range want {
		w.await(t, name, 1)
		require.Equal(t, expected.status, w.status(t, name), name)
		mu.Lock()
		require.Equal(t, expected.tries, tries["https://a.test/"+name], name)
		mu.Unlock()
	}
}

// A picture that was had and refused is what it is: its URL is not asked again and again.
func TestARefusedPictureIsLeftAlone(t *testing.T) {
	for _, class := range []fetch.Class{fetch.ClassImageBudget, fetch.ClassImageBounds} {
		w := newWorld()
		w.serve = func(imageload.Request) (*imageload.Image, error) { return fails(class) }
		w.start(t)
		w.document(t, "a", "https://a.test/1")
		first := w.await(t, "a", 1)[0]
		require.Equal(t, []any{registry.LogoBroken, string(class)}, []any{w.status(t, "a"), first.GetErrorClass()})
		wait := time.UnixMilli(first.GetNextCheckAtMs()).Sub(time.UnixMilli(first.GetCheckedAtMs()))
		require.Greater(t, wait, 5*24*time.Hour)
	}
}

// TestASlowDomainLeavesWorkersToOthers, however many names it has. And a check that found its
// address busy is made again, at no cost.
func TestASlowDomainLeavesWorkersToOthers(t *testing.T) {
	w := newWorld()
	over := make(chan struct{})
	var mu sync.Mutex
	busy := map[string]int{}
	w.serve = func(request imageload.Request) (*imageload.Image, error) {
		if groupsOf(request.URL)[0] == "slow.test" {
			<-over
			return good("x"), nil
		}
		mu.Lock()
		defer mu.Unlock()
		if busy[request.URL]++; busy[request.URL] < 8 {
			return nil, &fetch.Error{Class: fetch.ClassHostBusy, RetryAfter: time.Second}
		}
		return good("x"), nil
	}
	defer close(over)
	for i := range 40 {
		w.document(t, fmt.Sprint("slow", i), fmt.Sprintf("https://n%d.slow.test/", i))
	}
	w.start(t)
	require.Eventually(t, func() bool { return w.loaded("https://n0.slow.test/") == 1 }, 30*time.Second, time.Millisecond)
	for i := range 20 {
		w.document(t, fmt.Sprint("quick", i), fmt.Sprintf("https://n%d.test/", i))
	}
	for i := range 20 {
		w.await(t, fmt.Sprint("quick", i), 1)
		require.Equal(t, registry.LogoOK, w.status(t, fmt.Sprint("quick", i)))
	}
}
