package chhttp

import (
	"log/slog"
	"maps"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/mintlake/mintlake/embedded/clickhouse/libchdb"
)

// Bounds of sessions. The two times are ClickHouse's defaults.
const (
	defaultSessionTimeout = 60   // seconds without a request
	maxSessionTimeout     = 3600 // seconds
	maxSessions           = 1000
	maxSessionIDBytes     = 256
	maxSessionSettings    = 64 << 10 // bytes of names and values
)

// session is the state that requests with one session_id share: settings of SET, the database of
// USE, and temporary tables. Only one request at a time uses it.
//
// Settings and database are kept here, and set on the connection that runs the next request.
// Temporary tables exist only in one connection. So a session that creates one keeps a connection
// until its end.
type session struct {
	id       string
	timeout  time.Duration
	settings map[string]string
	database string
	conn     *libchdb.Conn // nil until the session creates a temporary table

	busy  bool
	timer *time.Timer // ends the session; nil while busy
}

// sessions has all sessions by their id.
type sessions struct {
	pool *libchdb.Pool
	log  *slog.Logger

	mu   sync.Mutex
	byID map[string]*session
}

// sessionRequest is what a request says about its session.
type sessionRequest struct {
	id      string
	timeout time.Duration
	check   bool // the session must exist already
	close   bool // the session ends with this request
}

// readSession reads the parameters of the session. Without a session_id there is no session.
func readSession(values url.Values) (sessionRequest, error) {
	r := sessionRequest{
		id: values.Get("session_id"), timeout: defaultSessionTimeout * time.Second,
		check: isOn(values.Get("session_check")), close: isOn(values.Get("close_session")),
	}
	if len(r.id) > maxSessionIDBytes {
		return r, libchdb.Errorf(codeBadQuery, "BAD_ARGUMENTS", "The session_id is longer than %d bytes", maxSessionIDBytes)
	}
	if text := values.Get("session_timeout"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return r, libchdb.Errorf(374, "INVALID_SESSION_TIMEOUT", "Invalid session timeout: '%s'", text)
		}
		if seconds > maxSessionTimeout {
			return r, libchdb.Errorf(374, "INVALID_SESSION_TIMEOUT", "Session timeout '%s' is larger than max_session_timeout: %d", text, maxSessionTimeout)
		}
		r.timeout = time.Duration(seconds) * time.Second
	}
	return r, nil
}

// enter takes the session for one request, and creates it if it does not exist. It returns nil for
// a request without a session.
func (s *sessions) enter(r sessionRequest) (*session, error) {
	if r.id == "" {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.byID[r.id]
	switch {
	case found == nil && r.check:
		return nil, libchdb.Errorf(372, "SESSION_NOT_FOUND", "Session %s not found", r.id)
	case found == nil && len(s.byID) >= maxSessions:
		return nil, libchdb.Errorf(700, "USER_SESSION_LIMIT_EXCEEDED", "The embedded engine keeps %d sessions at once: end some with close_session=1, or give them a shorter session_timeout", maxSessions)
	case found == nil:
		found = &session{id: r.id, settings: map[string]string{}}
		s.byID[r.id] = found
	case found.busy:
		return nil, libchdb.Errorf(373, "SESSION_IS_LOCKED", "Session %s is locked by a concurrent client", r.id)
	}
	found.busy, found.timeout = true, r.timeout
	if found.timer != nil {
		found.timer.Stop()
		found.timer = nil
	}
	return found, nil
}

// leave gives the session back after a request. With last set, the session ends now. Otherwise it
// ends when no request has come for its timeout.
func (s *sessions) leave(sess *session, last bool) {
	if sess == nil {
		return
	}
	s.mu.Lock()
	if !last {
		sess.busy = false
		var timer *time.Timer
		timer = time.AfterFunc(sess.timeout, func() { s.expire(sess, timer) })
		sess.timer = timer
		s.mu.Unlock()
		return
	}
	delete(s.byID, sess.id)
	s.mu.Unlock()
	s.free(sess)
}

// expire ends a session whose timer has fired, unless a request took it before.
func (s *sessions) expire(sess *session, timer *time.Timer) {
	s.mu.Lock()
	if sess.timer != timer { // a request took it meanwhile
		s.mu.Unlock()
		return
	}
	delete(s.byID, sess.id)
	s.mu.Unlock()
	s.free(sess)
}

// free drops the temporary tables of a session and gives its connection back. The session is not in
// the map any more, so nobody else uses the connection.
func (s *sessions) free(sess *session) {
	if sess.conn == nil {
		return
	}
	if err := s.pool.Unpin(sess.conn); err != nil {
		s.log.Error("drop a session's temporary tables", "err", err)
	}
}

// pin gives the session a connection of its own, for temporary tables.
func (s *sessions) pin(sess *session) error {
	if sess.conn != nil {
		return nil
	}
	conn, ok := s.pool.Pin()
	if !ok {
		return libchdb.Errorf(202, "TOO_MANY_SIMULTANEOUS_QUERIES", "As many sessions as the embedded engine allows have temporary tables already: end one with close_session=1, or wait for its timeout")
	}
	sess.conn = conn
	return nil
}

// with returns the settings of the session, overridden by those of a request.
func (s *session) with(settings map[string]string) map[string]string {
	if s == nil || len(s.settings) == 0 {
		return settings
	}
	all := maps.Clone(s.settings)
	maps.Copy(all, settings)
	return all
}

// keep stores the effect of a SET or USE that has run on conn.
func (s *session) keep(stmt *statement, conn *libchdb.Conn) error {
	if stmt.kind == kindUse {
		database, err := conn.Database()
		if err != nil {
			return err
		}
		s.database = database
	}
	if stmt.kind == kindSet {
		changed, err := conn.Changed(stmt.settings)
		if err != nil {
			return err
		}
		next := maps.Clone(s.settings)
		for _, name := range stmt.settings {
			delete(next, name)
		}
		maps.Copy(next, changed)
		delete(next, "log_comment") // the pool needs its own value, to kill queries by it
		size := 0
		for name, value := range next {
			size += len(name) + len(value)
		}
		if size > maxSessionSettings {
			return libchdb.Errorf(codeBadQuery, "BAD_ARGUMENTS", "The session's settings are longer than %d bytes", maxSessionSettings)
		}
		s.settings = next
	}
	return nil
}
