// Package libchdb calls the ClickHouse engine in libchdb.so, without cgo.
//
// In: the path of libchdb.so, a data directory, SQL text. Out: result bytes in the requested
// format, or the engine's error with its code. Guarantees: a Pool gives each connection to one user
// at a time, sets its database and settings to what that user asks for, and kills its query when
// the user's context ends. The signal handlers of the process stay those of Go.
//
// The engine shares the address space of the process that loads it, so a crash of the engine ends
// the process. Load it in a child process, as package chengine does. Only one process can open a
// data directory.
package libchdb

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ErrLoad says that the library could not be loaded, or is no libchdb that this package knows. It
// is permanent.
var ErrLoad = errors.New("libchdb cannot be loaded")

// Library is a loaded libchdb.so. It is never unloaded: the engine's threads run until the process
// ends.
type Library struct {
	connect      func(argc int32, argv unsafe.Pointer) unsafe.Pointer
	closeConn    func(conn unsafe.Pointer)
	query        func(conn, query unsafe.Pointer, queryLen uintptr, format unsafe.Pointer, formatLen uintptr) unsafe.Pointer
	queryParams  paramsFunc
	streamParams paramsFunc
	streamFetch  func(conn, stream unsafe.Pointer) unsafe.Pointer
	streamCancel func(conn, stream unsafe.Pointer)
	destroy      func(result unsafe.Pointer)
	buffer       func(result unsafe.Pointer) unsafe.Pointer
	length       func(result unsafe.Pointer) uintptr
	rowsRead     func(result unsafe.Pointer) uint64
	storageRows  func(result unsafe.Pointer) uint64
	storageBytes func(result unsafe.Pointer) uint64
	errorText    func(result unsafe.Pointer) string
	setSignals   func(enabled int32)

	signals signalGuard
}

// paramsFunc is the type of the functions that take query parameters, as parallel arrays of
// pointers and lengths.
type paramsFunc = func(conn, query unsafe.Pointer, queryLen uintptr, format unsafe.Pointer, formatLen uintptr,
	names, nameLens, values, valueLens unsafe.Pointer, count uintptr) unsafe.Pointer

// Load opens the library at path and looks up every function that this package needs. Errors wrap
// ErrLoad.
func Load(path string) (*Library, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLoad, path, err)
	}
	l := &Library{}
	for _, symbol := range []struct {
		name string
		fn   any
	}{
		{"chdb_connect", &l.connect},
		{"chdb_close_conn", &l.closeConn},
		{"chdb_query_n", &l.query},
		{"chdb_query_with_params_n", &l.queryParams},
		{"chdb_stream_query_with_params_n", &l.streamParams},
		{"chdb_stream_fetch_result", &l.streamFetch},
		{"chdb_stream_cancel_query", &l.streamCancel},
		{"chdb_destroy_query_result", &l.destroy},
		{"chdb_result_buffer", &l.buffer},
		{"chdb_result_length", &l.length},
		{"chdb_result_rows_read", &l.rowsRead},
		{"chdb_result_storage_rows_read", &l.storageRows},
		{"chdb_result_storage_bytes_read", &l.storageBytes},
		{"chdb_result_error", &l.errorText},
		{"chdb_set_signal_handlers_enabled", &l.setSignals},
	} {
		// RegisterLibFunc would panic if the symbol is missing.
		address, err := purego.Dlsym(handle, symbol.name)
		if err != nil {
			return nil, fmt.Errorf("%w: %s has no function %s (another library, or another version of libchdb)", ErrLoad, path, symbol.name)
		}
		purego.RegisterFunc(symbol.fn, address)
	}
	if l.signals, err = newSignalGuard(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLoad, err)
	}
	l.signals.keep(func() { l.setSignals(0) })
	return l, nil
}
