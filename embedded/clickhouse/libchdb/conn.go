package libchdb

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"unsafe"
)

// Error is an error that the engine reported.
type Error struct {
	// Code is ClickHouse's error code; 0 if the text has none.
	Code int
	// Text is the engine's text, as a ClickHouse server sends it: "Code: 60. DB::Exception: …".
	Text string
}

// Error returns the engine's text.
func (e *Error) Error() string { return e.Text }

var codePrefix = regexp.MustCompile(`^Code: (\d+)\.`)

// newError makes an Error of the engine's text.
func newError(text string) *Error {
	e := &Error{Text: text}
	if m := codePrefix.FindStringSubmatch(text); m != nil {
		e.Code, _ = strconv.Atoi(m[1]) // digits only; one too long for an int stays 0
	}
	return e
}

// Errorf makes an Error of our own in the form of a ClickHouse server, so that clients see one kind
// of error.
func Errorf(code int, name, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf("Code: %d. DB::Exception: %s. (%s)", code, fmt.Sprintf(format, args...), name)}
}

// ErrConnect says that the engine did not open. It writes the reason to stderr only.
var ErrConnect = errors.New("the ClickHouse engine did not open the data directory")

// rawConn is one connection of the engine, which runs the calls on it one after the other.
type rawConn struct {
	lib    *Library
	owner  unsafe.Pointer // chdb_connection *, what close takes
	handle unsafe.Pointer // chdb_connection, what every other call takes
}

// open opens a connection with arguments of the clickhouse command line, for example --path=DIR.
// The first connection of the process opens the data directory.
func (l *Library) open(args []string) (*rawConn, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	argv := make([]unsafe.Pointer, 0, len(args)+2)
	for _, arg := range append([]string{"clickhouse"}, args...) {
		text := append([]byte(arg), 0)
		pin.Pin(&text[0])
		argv = append(argv, unsafe.Pointer(&text[0]))
	}
	argc := len(argv)
	argv = append(argv, nil)
	pin.Pin(&argv[0])
	var owner unsafe.Pointer
	l.signals.keep(func() { owner = l.connect(int32(argc), unsafe.Pointer(&argv[0])) })
	if owner == nil {
		return nil, ErrConnect
	}
	return &rawConn{lib: l, owner: owner, handle: *(*unsafe.Pointer)(owner)}, nil
}

func (c *rawConn) close() { c.lib.closeConn(c.owner) }

// Result is the whole result of a query, in the engine's memory. Call Free when you no longer use
// it.
type Result struct {
	lib *Library
	ptr unsafe.Pointer
	// Rows is the number of rows in the result.
	Rows uint64
	// ReadRows and ReadBytes count what the query read from storage.
	ReadRows, ReadBytes uint64
}

// Bytes returns the result. It is valid until Free.
func (r *Result) Bytes() []byte { return bytesOf(r.lib, r.ptr) }

// Free frees the memory. It may be called twice.
func (r *Result) Free() {
	if r.ptr != nil {
		r.lib.destroy(r.ptr)
		r.ptr = nil
	}
}

// bytesOf returns the bytes of a result without copying them.
func bytesOf(lib *Library, result unsafe.Pointer) []byte {
	n := lib.length(result)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(lib.buffer(result)), n)
}

// query runs one statement and returns its whole result.
func (c *rawConn) query(query []byte, format string, params map[string]string) (*Result, error) {
	var ptr unsafe.Pointer
	if len(params) == 0 {
		f := []byte(format)
		ptr = c.lib.query(c.handle, pointer(query), uintptr(len(query)), pointer(f), uintptr(len(f)))
		runtime.KeepAlive(f)
	} else {
		ptr = c.withParams(c.lib.queryParams, query, format, params)
	}
	runtime.KeepAlive(query)
	if err := c.lib.failure(ptr); err != nil {
		return nil, err
	}
	return &Result{lib: c.lib, ptr: ptr, Rows: c.lib.rowsRead(ptr), ReadRows: c.lib.storageRows(ptr), ReadBytes: c.lib.storageBytes(ptr)}, nil
}

// stream runs one statement and calls yield with each chunk of its result. A chunk is valid during
// the call only. An error of yield ends the query and is returned.
func (c *rawConn) stream(query []byte, format string, params map[string]string, yield func([]byte) error) error {
	handle := c.withParams(c.lib.streamParams, query, format, params)
	runtime.KeepAlive(query)
	if err := c.lib.failure(handle); err != nil {
		return err
	}
	defer c.lib.destroy(handle)
	for {
		chunk := c.lib.streamFetch(c.handle, handle)
		if chunk == nil {
			return nil
		}
		if text := c.lib.errorText(chunk); text != "" {
			c.lib.destroy(chunk)
			return newError(text)
		}
		data := bytesOf(c.lib, chunk)
		if len(data) == 0 {
			end := c.lib.rowsRead(chunk) == 0 // a format that buffers can give rows without bytes
			c.lib.destroy(chunk)
			if end {
				return nil
			}
			continue
		}
		err := yield(data)
		c.lib.destroy(chunk)
		if err != nil {
			c.lib.streamCancel(c.handle, handle)
			return err
		}
	}
}

// failure returns the error of a result and frees the result; nil if there is no error.
func (l *Library) failure(result unsafe.Pointer) error {
	if result == nil {
		return Errorf(1002, "UNKNOWN_EXCEPTION", "The embedded engine returned no result")
	}
	if text := l.errorText(result); text != "" {
		l.destroy(result)
		return newError(text)
	}
	return nil
}

// withParams calls f with params as parallel arrays. The memory that they point to is pinned during
// the call.
func (c *rawConn) withParams(f paramsFunc, query []byte, format string, params map[string]string) unsafe.Pointer {
	var pin runtime.Pinner
	defer pin.Unpin()
	var names, values []unsafe.Pointer
	var nameLens, valueLens []uintptr
	for name, value := range params {
		// The NUL gives an empty value an address, too.
		n, v := append([]byte(name), 0), append([]byte(value), 0)
		pin.Pin(&n[0])
		pin.Pin(&v[0])
		names, nameLens = append(names, unsafe.Pointer(&n[0])), append(nameLens, uintptr(len(name)))
		values, valueLens = append(values, unsafe.Pointer(&v[0])), append(valueLens, uintptr(len(value)))
	}
	var namesAt, nameLensAt, valuesAt, valueLensAt unsafe.Pointer
	if len(names) > 0 {
		pin.Pin(&names[0])
		pin.Pin(&nameLens[0])
		pin.Pin(&values[0])
		pin.Pin(&valueLens[0])
		namesAt, nameLensAt = unsafe.Pointer(&names[0]), unsafe.Pointer(&nameLens[0])
		valuesAt, valueLensAt = unsafe.Pointer(&values[0]), unsafe.Pointer(&valueLens[0])
	}
	formatBytes := []byte(format)
	result := f(c.handle, pointer(query), uintptr(len(query)), pointer(formatBytes), uintptr(len(formatBytes)), namesAt, nameLensAt, valuesAt, valueLensAt, uintptr(len(names)))
	runtime.KeepAlive(query)
	runtime.KeepAlive(formatBytes)
	return result
}

// pointer returns the address of the first byte; nil for an empty slice.
func pointer(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Pointer(&b[0])
}
