package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// failures is a token bucket of wrong tokens, for all callers together: the API listens on
// loopback, where addresses tell nobody apart. When it is empty, right tokens are refused too, as
// else a guesser would see which one is right.
type failures struct {
	most  float64
	every time.Duration

	mu   sync.Mutex
	left float64
	at   time.Time
}

// take takes a try, which giveBack returns if the token was right.
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

// authorized lets requests with the token pass.
func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		presented, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !bearer || presented == "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, http.StatusUnauthorized, "the admin token is required: Authorization: Bearer TOKEN")
			return
		}
		if !s.wrong.take(time.Now()) {
			w.Header().Set("Retry-After", strconv.Itoa(max(1, int(s.cfg.wrongTokenEvery.Seconds()))))
			writeError(w, http.StatusTooManyRequests, "too many wrong admin tokens: try again later")
			return
		}
		hash := sha256.Sum256([]byte(presented))
		if subtle.ConstantTimeCompare(hash[:], s.token[:]) != 1 {
			s.deps.Logger.Warn("wrong admin token", "remote", r.RemoteAddr)
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, http.StatusUnauthorized, "the admin token is wrong")
			return
		}
		s.wrong.giveBack()
		next.ServeHTTP(w, r)
	})
}
