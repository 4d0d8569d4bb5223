package terminal

import (
	"bytes"
	"io"
	"sync"

	"golang.org/x/term"
)

// Live writes lines to a terminal, and keeps one line below them that it rewrites, such as a
// progress bar. Without a terminal there is no such line. Many goroutines may use it at once.
type Live struct {
	mu    sync.Mutex
	w     io.Writer
	width func() int // the terminal's width; nil without a terminal
	line  string
}

// NewLive returns a Live that writes to w.
func NewLive(w io.Writer) *Live {
	l := &Live{w: w}
	if file, ok := w.(interface{ Fd() uintptr }); ok && IsTerminal(w) {
		l.width = func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 80 // the usual width
			}
			return width
		}
	}
	return l
}

// Lives reports whether there is a terminal, and so a live line.
func (l *Live) Lives() bool { return l.width != nil }

const eraseLine = "\r\x1b[K"

// Write implements io.Writer. It writes whole lines above the live line. Other text is written
// where the cursor is.
func (l *Live) Write(lines []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line == "" || !bytes.HasSuffix(lines, []byte("\n")) {
		return l.w.Write(lines)
	}
	text := append([]byte(eraseLine), lines...)
	if _, err := l.w.Write(append(text, l.line...)); err != nil {
		return 0, err
	}
	return len(lines), nil
}

// Show rewrites the live line; empty removes it. It is cut to the terminal's width: a line that
// wraps could not be rewritten.
func (l *Live) Show(line string) {
	if l.width == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line = Cut(Clean(line), l.width()-1)
	_, _ = io.WriteString(l.w, eraseLine+l.line) // a closed terminal must not stop the work
}
