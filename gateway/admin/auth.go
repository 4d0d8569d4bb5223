package admin

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/httpjson"
)

// tryBucket is a token bucket: each wrong admin token takes one try from it. All callers share the
// bucket, because on loopback their addresses do not tell them apart. While it is empty, the right
// token is refused as well: otherwise a guesser would learn which token is right.
type tryBucket struct {
	most  float64       // the most tries in the bucket
	every time.Duration // the time in which the bucket gains one try

	mu   sync.Mutex
	left float64   // tries in the bucket at the time at
	at   time.Time // of the last take; zero before the first
}

// take takes one try from the bucket, and returns false if there is none. If the token turns out to
// be right, the caller returns the try with giveBack.
func (b *tryBucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.at.IsZero() {
		b.left = min(b.most, b.left+max(0, now.Sub(b.at).Seconds())/b.every.Seconds())
	}
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

func (b *tryBucket) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = min(b.most, b.left+1)
}

// authorized passes on a request with the admin token. It also passes on a request of a browser
// that has signed in, unless a page of another origin sent it. It answers all other requests
// itself.
func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		presented, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case bearer && presented != "":
			if s.rightToken(w, r, presented) {
				next.ServeHTTP(w, r)
			}
		case !s.signedIn(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			httpjson.WriteError(w, http.StatusUnauthorized, "the admin token is required: Authorization: Bearer TOKEN")
		case !sameOrigin(r):
			httpjson.WriteError(w, http.StatusForbidden, "pages of other origins may not use the dashboard's session")
		default:
			next.ServeHTTP(w, r)
		}
	})
}
