package logos

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/imageload"
	"github.com/mintlake/mintlake/registry"
)

// Lives end at random moments; in the end every status is what the web says.
func TestKilledAtRandomStatusesAreTheWebs(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := newWorld()
		w.serve = func(request imageload.Request) (*imageload.Image, error) {
			switch {
			case strings.HasSuffix(request.URL, "3"):
				return fails(fetch.ClassNotImage)
			case strings.HasSuffix(request.URL, "7"):
				return fails(fetch.ClassTimeout)
			}
			return good(request.URL), nil
		}
		const mints = 100
		for i := range mints {
			w.document(t, fmt.Sprint(i), fmt.Sprintf("https://h%d.test/%d", i%9, i))
			if i%11 == 0 {
				w.document(t, fmt.Sprint(i), fmt.Sprintf("https://h%d.test/again/%d", i%9, i+1))
			}
		}
		lives := 0
		for settled := false; !settled; lives++ {
			writes := r.IntN(80)
			w.topic.mu.Lock()
			w.fail = func() error {
				if writes--; writes < 0 && lives < 10 {
					return errors.New("killed")
				}
				return nil
			}
			w.topic.mu.Unlock()
			stop := w.start(t)
			require.Eventually(t, func() bool {
				w.topic.mu.Lock()
				dead := writes < 0 && lives < 10
				w.topic.mu.Unlock()
				settled = w.latest.table.count(registry.LogoUnchecked) == 0 && w.latest.table.size() == mints
				return dead || settled
			}, 30*time.Second, time.Millisecond)
			err := stop()
			settled = settled && err == nil
		}
		require.Greater(t, lives, 1)
		for i := range mints {
			n := i
			if i%11 == 0 {
				n++
			}
			want := registry.LogoOK
			if n%10 == 3 || n%10 == 7 {
				want = registry.LogoBroken
			}
			require.Equal(t, want, w.status(t, fmt.Sprint(i)), i)
		}
	}
}
