package admin

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/httpjson"
)

// failures is a token bucket for wrong admin tokens. All callers share it, because on loopback
// addresses do not tell them apart. When it is empty, the right token is refused as well: otherwise
// a guesser would learn which one is right.
type failures struct {
	most  float64       // the bucket's size
	every time.Duration // how long it takes until the bucket gets one token more

	mu   sync.Mutex
	left float64   // tokens in the bucket at the time at
	at   time.Time // of the last take
}

// take takes one try from the bucket. giveBack returns it if the token was right.
func (f *failures) take(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.at.IsZero() {
		f.left = min(f.most, f.left+max(0, now.Sub(f.at).Seconds())/f.every.Seconds())
	}
	f.at = now
	if f.left < 1 {
		return false
	}
	f.left--
	return true
}

func (f *failures) giveBack() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = min(f.most, f.left+1)
}

// authorized passes on requests with the admin token, and those of a browser that has signed in,
// unless a page of another origin sent them.
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
