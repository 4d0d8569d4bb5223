package framing

import "net/http"

// CloseAfterChunked makes a net/http server close the connection after a request with a chunked
// body.
//
// net/http reads a request with both Content-Length and Transfer-Encoding as chunked, hides the
// length from the handler, and keeps the connection. A proxy in front that goes by the length would
// then take a part of the body for the next request. RFC 9112, section 6.3, wants such a connection
// closed. The handler cannot tell these requests from other chunked ones, so the connection is
// closed after all of them.
func CloseAfterChunked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
