// Package httpjson writes the JSON responses of the gateway's HTTP endpoints.
//
// In: a status and a value, or a message. Out: the response. Guarantees: it is never cached, and no
// browser takes it for something else than JSON; every error has the same members.
package httpjson

import (
	"encoding/json"
	"net/http"
)

// Write answers with a value, which encoding/json must be able to encode.
func Write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may have left
}

// WriteError answers with {"statusCode":…,"error":…,"message":…}, where error is the status' text.
func WriteError(w http.ResponseWriter, status int, message string) {
	Write(w, status, struct {
		StatusCode int    `json:"statusCode"`
		Name       string `json:"error"`
		Message    string `json:"message"`
	}{status, http.StatusText(status), message})
}
