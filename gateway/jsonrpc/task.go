package jsonrpc

import (
	"bytes"
	"encoding/json"

	"github.com/mintlake/mintlake/gateway/message"
)

// task is a call that is made at upstreams.
type task struct {
	call   *message.Call
	method *method
	// level is the commitment that the call asks for. least is the lowest slot that its answer may
	// have, because the call or its session demands it.
	level commitment
	least uint64
	// session is nil for a call without one.
	session *session
	// key is body without the id: calls with the same key ask the same.
	key []byte
	// body is what is sent upstream.
	body []byte
}

// newTask prepares a call for the upstreams. If the session has seen a later slot than the call
// asks for, that slot becomes the call's minContextSlot, where the method has one.
func newTask(c *message.Call, s *session) (*task, error) {
	t := &task{call: c, method: methodOf(c.Method), session: s}
	t.level, t.least = wants(t.method, c.Params)
	sent := *c
	if t.method.timeless {
		t.session = nil
	}
	if t.session != nil {
		if slot := s.slot(t.level); slot > t.least {
			t.least = slot
			sent.Params = withMinContextSlot(t.method, c.Params, slot)
		}
	}
	sent.ID = nil
	key, err := json.Marshal(&sent)
	t.key, t.body = key, key
	if !c.Notification() {
		t.body = withID(key, c.ID)
	}
	return t, err
}

// callBegins is how each encoded call begins.
const callBegins = `{"jsonrpc":"2.0",`

// withID puts an id into an encoded call that has none.
func withID(encoded []byte, id json.RawMessage) []byte {
	body := make([]byte, 0, len(encoded)+len(id)+len(`"id":,`))
	body = append(body, callBegins...)
	body = append(body, `"id":`...)
	body = append(body, id...)
	body = append(body, ',')
	return append(body, encoded[len(callBegins):]...)
}

// options are the members of a call's configuration that say which slot it wants.
type options struct {
	Commitment          *string `json:"commitment"`
	PreflightCommitment *string `json:"preflightCommitment"`
	MinContextSlot      *uint64 `json:"minContextSlot"`
}

// wants reads commitment and minContextSlot from params. They may be in any parameter that is an
// object. A send has preflightCommitment in place of commitment. getSignatureStatuses has no
// commitment. wants ignores values that are not valid, as the upstream will refuse them.
func wants(m *method, params json.RawMessage) (level commitment, least uint64) {
	level = m.level
	// Most calls have neither: this saves them the parse. "ommitment" is in commitment and in
	// preflightCommitment.
	if !bytes.Contains(params, []byte("ommitment")) && !bytes.Contains(params, []byte("minContextSlot")) {
		return level, 0
	}
	var list []json.RawMessage
	if json.Unmarshal(params, &list) != nil {
		return level, 0
	}
	for _, param := range list {
		var o options
		if param[0] != '{' || json.Unmarshal(param, &o) != nil {
			continue
		}
		if m.effect == send {
			o.Commitment = o.PreflightCommitment
		}
		if o.Commitment != nil {
			if named, ok := parseCommitment(*o.Commitment); ok && m.name != "getSignatureStatuses" {
				level = named
			}
		}
		if o.MinContextSlot != nil {
			least = max(least, *o.MinContextSlot)
		}
	}
	return level, least
}

// withMinContextSlot returns params with minContextSlot set to slot: a node that has not reached
// that slot refuses the call. Params without a place for it are returned unchanged.
func withMinContextSlot(m *method, params json.RawMessage, slot uint64) json.RawMessage {
	if m.config < 0 || m.effect != read {
		return params
	}
	var list []json.RawMessage
	if params != nil && json.Unmarshal(params, &list) != nil || len(list) < m.config {
		return params
	}
	config := map[string]json.RawMessage{}
	if len(list) == m.config {
		list = append(list, nil)
	} else if json.Unmarshal(list[m.config], &config) != nil {
		return params
	}
	if config == nil { // the parameter was null
		config = map[string]json.RawMessage{}
	}
	config["minContextSlot"] = json.RawMessage(utoa(slot))
	made, err := json.Marshal(config)
	if err != nil {
		return params
	}
	list[m.config] = made
	if made, err = json.Marshal(list); err != nil {
		return params
	}
	return made
}

// admits returns whether an answer may be shown. If so, the session remembers its slot. An error
// may always be shown, and so may the answer to a notification, which nobody sees. known is the
// slot that the upstream was known to have before it was asked.
func (t *task) admits(got *answer, known uint64) bool {
	switch {
	case got.failure != nil || t.call.Notification():
		return true
	case got.at.hasSlot && got.at.slot < t.least:
		return false
	}
	return t.session == nil || t.session.admit(t.level, got.at, known)
}

// wanted returns the lowest slot that an answer may have now.
func (t *task) wanted() uint64 {
	if t.session != nil {
		return max(t.least, t.session.slot(t.level))
	}
	return t.least
}
