package admin

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/httpjson"
)

const (
	// sessionCookie is the name of the cookie. Its random value stands for the admin token in a
	// browser.
	sessionCookie = "mintlake_admin"
	// sessionAge is how long a session lasts. sessionIdle is how long it may be unused.
	sessionAge  = 12 * time.Hour
	sessionIdle = time.Hour
	// maxSessions bounds the sessions. One more session replaces the least recently used one.
	maxSessions = 32
)

// session is the session of a browser that signed in: when it began, and when it was last used.
type session struct{ began, used time.Time }

// sessions has the sessions of browsers that signed in, by the SHA-256 of their cookie's value.
type sessions struct {
	mu   sync.Mutex
	byID map[[sha256.Size]byte]*session
}

func newSessions() *sessions { return &sessions{byID: map[[sha256.Size]byte]*session{}} }

func (s *session) over(now time.Time) bool {
	return now.Sub(s.began) > sessionAge || now.Sub(s.used) > sessionIdle
}

// begin starts a session and returns its cookie value.
func (s *sessions) begin(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.byID) >= maxSessions {
		var leastRecent [sha256.Size]byte // at first zero, which no session has
		for id, other := range s.byID {
			if found := s.byID[leastRecent]; found == nil || other.used.Before(found.used) {
				leastRecent = id
			}
		}
		delete(s.byID, leastRecent)
	}
	value := rand.Text()
	s.byID[sha256.Sum256([]byte(value))] = &session{now, now}
	return value
}

// use returns whether the session exists and is not over, and records that it was used.
func (s *sessions) use(value string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := sha256.Sum256([]byte(value))
	found := s.byID[id]
	if found == nil {
		return false
	}
	if found.over(now) {
		delete(s.byID, id)
		return false
	}
	found.used = now
	return true
}

func (s *sessions) end(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, sha256.Sum256([]byte(value)))
}

// rightToken compares presented with the admin token. If it returns false, it has answered the
// request: the token is wrong, or too many wrong tokens came before.
func (s *Server) rightToken(w http.ResponseWriter, r *http.Request, presented string) bool {
	if !s.tries.take(time.Now()) {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(s.cfg.wrongTokenEvery.Seconds()))))
		httpjson.WriteError(w, http.StatusTooManyRequests, "too many wrong admin tokens: try again later")
		return false
	}
	hash := sha256.Sum256([]byte(presented))
	if subtle.ConstantTimeCompare(hash[:], s.token[:]) != 1 {
		s.deps.Logger.Warn("wrong admin token", "remote", r.RemoteAddr)
		w.Header().Set("WWW-Authenticate", "Bearer")
		httpjson.WriteError(w, http.StatusUnauthorized, "the admin token is wrong")
		return false
	}
	s.tries.giveBack()
	return true
}

// sameOrigin returns false if a page of another origin made the browser send the request. The
// cookie's SameSite is not enough: it lets pages of other ports of this machine through. Current
// browsers send Sec-Fetch-Site or Origin, so a request without both is not from a page.
func sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin := r.Header.Get("Origin")
	_, host, _ := strings.Cut(origin, "://")
	return origin == "" || host == r.Host
}

// signedIn returns whether the request belongs to a session, and records that the session was used.
func (s *Server) signedIn(r *http.Request) bool {
	cookie, err := r.Cookie(sessionCookie)
	return err == nil && s.sessions.use(cookie.Value, time.Now())
}

// tokenBody is the body of POST /session.
type tokenBody struct {
	Token string `json:"token"`
}

// signIn serves POST /session. It exchanges the admin token for a cookie that scripts cannot read.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	var body tokenBody
	if !sameOrigin(r) {
		httpjson.WriteError(w, http.StatusForbidden, "pages of other origins may not sign in")
		return
	}
	if err := readBody(w, r, &body); err != nil {
		s.fail(w, err)
		return
	}
	if !s.rightToken(w, r, body.Token) {
		return
	}
	s.setCookie(w, r, s.sessions.begin(time.Now()), int(sessionAge.Seconds()))
	s.deps.Logger.Info("dashboard: signed in", "remote", r.RemoteAddr)
	httpjson.Write(w, http.StatusOK, map[string]string{"status": "signed in"})
}

// signOut serves DELETE /session.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	if !sameOrigin(r) {
		httpjson.WriteError(w, http.StatusForbidden, "pages of other origins may not sign out")
		return
	}
	if cookie, err := r.Cookie(sessionCookie); err == nil {
		s.sessions.end(cookie.Value)
	}
	s.setCookie(w, r, "", -1)
	httpjson.Write(w, http.StatusOK, map[string]string{"status": "signed out"})
}

// setCookie sets the session cookie for age seconds. A negative age deletes it.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // over plain HTTP a secure cookie never comes back
		Name: sessionCookie, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// Behind a proxy that terminates TLS, the request itself is plain.
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}
