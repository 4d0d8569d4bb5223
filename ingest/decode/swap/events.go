package swap

import (
	"bytes"
	"encoding/base64"
)

// selfCall is the prefix of the data of a call by which a program sends an event to itself, as
// Anchor does (anchor-lang event_cpi, EVENT_IX_TAG_LE).
const selfCall = "\xe4\x45\xa5\x2e\x51\xcb\x9a\x1d"

func isSelfCall(data []byte) bool {
	return len(data) >= len(selfCall) && string(data[:len(selfCall)]) == selfCall
}

// events calls visit with each event of the venue's program until visit returns false. It visits
// only events that belong to the instruction at a node, not to instructions inside it. l.source is
// set to where the visited event comes from.
func (l *ledger) events(v *Venue, at int, visit func(data []byte) bool) {
	l.source = byEvent
	switch v.Events {
	case NoEvents:
	case SelfCall:
		l.selfCalls(at, visit)
	case ProgramData, RayLog:
		l.logged(at, v.Events == RayLog, visit)
	case Anywhere:
		stopped := false
		l.selfCalls(at, func(data []byte) bool {
			stopped = !visit(data)
			return !stopped
		})
		if !stopped {
			l.logged(at, false, visit)
		}
	}
}

// selfCalls visits the events that the program sent to itself directly from the instruction at a
// node.
func (l *ledger) selfCalls(at int, visit func(data []byte) bool) {
	n := &l.nodes[at]
	for i := at + 1; i < n.end; i++ {
		c := &l.nodes[i]
		if c.call.ProgramIndex == n.call.ProgramIndex && isSelfCall(c.call.Data) && (c.height == n.height+1 || c.height == 0) &&
			!visit(c.call.Data[len(selfCall):]) {
			return
		}
	}
}

// logEvent is a log line with an event, and the node whose program wrote it.
type logEvent struct {
	node int
	ray  bool
	data []byte // base64; borrows the log
}

// logged visits the events in the log that the instruction at a node wrote.
func (l *ledger) logged(at int, ray bool, visit func(data []byte) bool) {
	l.readLogs()
	l.source = byLog
	for i := range l.logs {
		e := &l.logs[i]
		if e.node != at || e.ray != ray {
			continue
		}
		size := base64.StdEncoding.DecodedLen(len(e.data))
		if size > maxData {
			continue
		}
		if size > len(l.buffer) {
			l.buffer = make([]byte, max(size, 512))
		}
		n, err := base64.StdEncoding.Decode(l.buffer, e.data)
		if err == nil && !visit(l.buffer[:n]) {
			return
		}
	}
}

var (
	linePrefix = []byte("Program ")
	lineData   = []byte("data: ")
	lineRay    = []byte("log: ray_log: ")
	lineLog    = []byte("log: ")
	lineInvoke = []byte(" invoke [")
	lineDone   = []byte(" success")
	lineFailed = []byte(" failed")
)

// readLogs finds the log lines with events, and the nodes that wrote them. The log has a line where
// a program begins and a line where it ends. Programs begin in the order of the instructions. Only
// precompiles log nothing. A program cannot fake these lines, because its own lines begin with
// "Program log:" or "Program data:". If log and instructions disagree, readLogs ignores the rest of
// the log.
func (l *ledger) readLogs() {
	if l.logsRead {
		return
	}
	l.logsRead = true
	if l.tx.Details == nil {
		return
	}
	r := logReader{ledger: l}
	l.stack = l.stack[:0]
	l.tx.Details.Logs(r.line)
}

// logReader reads the log line by line. next is the first node that has not begun.
type logReader struct {
	ledger *ledger
	next   int
}

// line reads one line. It returns false if the rest of the log is to be ignored.
func (r *logReader) line(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, linePrefix)
	if !ok {
		return true // not a line of a program, such as "Log truncated" at the end
	}
	l := r.ledger
	switch {
	case bytes.HasPrefix(rest, lineData):
		l.note(rest[len(lineData):], false)
	case bytes.HasPrefix(rest, lineRay):
		l.note(rest[len(lineRay):], true)
	case bytes.HasPrefix(rest, lineLog):
	case bytes.HasSuffix(rest, lineDone), bytes.Contains(rest, lineFailed):
		if len(l.stack) > 0 {
			l.stack = l.stack[:len(l.stack)-1]
		}
	default:
		if i := bytes.LastIndex(rest, lineInvoke); i > 0 {
			return r.begin(rest[:i])
		}
	}
	return true
}

// begin finds the node that begins. It returns false if log and instructions disagree: about the
// depth, about a venue's program, or because there are no more instructions.
func (r *logReader) begin(name []byte) bool {
	l := r.ledger
	depth := len(l.stack) + 1
	for r.next < len(l.nodes) && l.nodes[r.next].silent {
		r.next++
	}
	if r.next >= len(l.nodes) {
		return false
	}
	n := &l.nodes[r.next]
	if n.height != 0 && n.height != depth || n.venue >= 0 && string(name) != l.venues[n.venue].Program {
		return false
	}
	l.stack = append(l.stack, r.next)
	r.next++
	return true
}

// note keeps the event of a log line, with the node that is running.
func (l *ledger) note(data []byte, ray bool) {
	if len(l.stack) == 0 {
		return
	}
	l.logs = append(l.logs, logEvent{node: l.stack[len(l.stack)-1], ray: ray, data: data})
}
