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
)

const (
	// sessionCookie holds a random number that stands for the admin token in a browser.
	sessionCookie = "mintlake_admin"
	// sessionAge ends a session, and sessionIdle one that is not used.
	sessionAge  = 12 * time.Hour
	sessionIdle = time.Hour
	// maxSessions bounds the sessions; the one that was not used for longest makes room.
	maxSessions = 32
)

// session is a browser that signed in.
type session struct{ began, used time.Time }

// sessions are known by the hash of their cookie's value.
type sessions struct {
	mu   sync.Mutex
	byID map[[sha256.Size]byte]*session
}

func newSessions() *sessions { return &sessions{byID: map[[sha256.Size]byte]*session{}} }

func (s *session) over(now time.Time) bool {
	return now.Sub(s.began) > sessionAge || now.Sub(s.used) > sessionIdle
}

// begin returns a new session's cookie value.
func (s *sessions) begin(now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.byID) >= maxSessions {
		var oldest [sha256.Size]byte
		for id, other := range s.byID {
			if o := s.byID[oldest]; o == nil || other.used.Before(o.used) {
				oldest = id
			}
		}
		delete(s.byID, oldest)
	}
	value := rand.Text()
	s.byID[sha256.Sum256([]byte(value))] = &session{now, now}
	return value
}

// use says whether there is such a session.
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

// rightToken compares what was presented with the token. It has answered when it returns false.
func (s *Server) rightToken(w http.ResponseWriter, r *http.Request, presented string) bool {
	if !s.wrong.take(time.Now()) {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(s.cfg.wrongTokenEvery.Seconds()))))
		writeError(w, http.StatusTooManyRequests, "too many wrong admin tokens: try again later")
		return false
	}
	hash := sha256.Sum256([]byte(presented))
	if subtle.ConstantTimeCompare(hash[:], s.token[:]) != 1 {
		s.deps.Logger.Warn("wrong admin token", "remote", r.RemoteAddr)
		w.Header().Set("WWW-Authenticate", "Bearer")
		writeError(w, http.StatusUnauthorized, "the admin token is wrong")
		return false
	}
	s.wrong.giveBack()
	return true
}

// sameOrigin refuses what a page of another origin made the browser send. SameSite alone lets pages
// of other ports of this machine through. A request without either header is no browser's of today.
func sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin := r.Header.Get("Origin")
	_, host, _ := strings.Cut(origin, "://")
	return origin == "" || host == r.Host
}

// signedIn says whether the request is of a browser's session.
func (s *Server) signedIn(r *http.Request) bool {
	cookie, err := r.Cookie(sessionCookie)
	return err == nil && s.sessions.use(cookie.Value, time.Now())
}

// tokenBody is the body of POST /session.
type tokenBody struct {
	Token string `json:"token"`
}

// signIn is POST /session: it exchanges the token for a cookie that scripts cannot read.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	var body tokenBody
	if !sameOrigin(r) {
		writeError(w, http.StatusForbidden, "pages of other origins may not sign in")
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
	writeJSON(w, http.StatusOK, map[string]string{"status": "signed in"})
}

// signOut is DELETE /session.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	if !sameOrigin(r) {
		writeError(w, http.StatusForbidden, "pages of other origins may not sign out")
		return
	}
	if cookie, err := r.Cookie(sessionCookie); err == nil {
		s.sessions.end(cookie.Value)
	}
	s.setCookie(w, r, "", -1)
	writeJSON(w, http.StatusOK, map[string]string{"status": "signed out"})
}

func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // over plain HTTP a secure cookie never comes back
		Name: sessionCookie, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// A proxy in front has the TLS.
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}
