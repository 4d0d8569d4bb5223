package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// maxBatch bounds the mints of POST /tokens/batch. The number is from the specification.
const maxBatch = 500

// defaultMaxWait is the longest wait_ms that a batch may ask for. Proxies and clients seldom wait
// longer than this for an answer.
const defaultMaxWait = 5 * time.Second

// batchRequest is the body of POST /tokens/batch.
type batchRequest struct {
	mints  []string      // each once, in the order asked
	states bool          // the answer tells the state of each mint
	wait   time.Duration // how long the answer waits for unknown mints
}

// parseBatch reads {"mints": [string, …], "states": true, "wait_ms": 2000}. Other fields are
// ignored. So is the content type: a body that is not JSON is refused anyway. maxWait bounds
// wait_ms.
func parseBatch(body []byte, maxWait time.Duration) (batchRequest, error) {
	request, ok := parsePlainBatch(string(body), maxWait)
	if !ok {
		var err error
		if request, err = parseAnyBatch(body, maxWait); err != nil {
			return batchRequest{}, err
		}
	}
	request.mints = distinct(request.mints)
	return request, nil
}

// distinct removes repeated mints, in place.
func distinct(mints []string) []string {
	kept, seen := mints[:0], make(map[string]struct{}, len(mints))
	for _, mint := range mints {
		if _, again := seen[mint]; !again {
			seen[mint] = struct{}{}
			kept = append(kept, mint)
		}
	}
	return kept
}

// parseAnyBatch reads any body with encoding/json. Its error says what is wrong with the body. The
// mints may have repeats.
func parseAnyBatch(body []byte, maxWait time.Duration) (request batchRequest, err error) {
	const object = `must be a JSON object {"mints": […]}`
	var fields map[string]json.RawMessage
	if len(bytes.TrimSpace(body)) == 0 {
		return request, invalid("body", "empty", object)
	}
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return request, invalid("body", quoted(string(body[:min(len(body), 64)])), object)
	}
	if raw, given := fields["states"]; given && (string(raw) == "null" || json.Unmarshal(raw, &request.states) != nil) {
		return request, invalid("states", string(raw), "must be true or false")
	}
	if raw, given := fields["wait_ms"]; given {
		var ms float64 // 5.0 is a whole number too
		if json.Unmarshal(raw, &ms) != nil || string(raw) == "null" || !(ms >= 0 && ms <= float64(maxWait.Milliseconds())) || ms != math.Trunc(ms) {
			return request, invalid("wait_ms", string(raw), fmt.Sprintf("must be a whole number from 0 to %d", maxWait.Milliseconds()))
		}
		request.wait = time.Duration(ms) * time.Millisecond
	}
	raw, ok := fields["mints"]
	if !ok {
		return request, invalid("mints", "absent", fmt.Sprintf("must be an array of 1 to %d strings", maxBatch))
	}
	request.mints, err = parseMints(raw)
	return request, err
}

// parseMints reads the array of mints.
func parseMints(raw json.RawMessage) ([]string, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(raw, &elements); err != nil || elements == nil {
		return nil, invalid("mints", string(raw[:min(len(raw), 64)]), fmt.Sprintf("must be an array of 1 to %d strings", maxBatch))
	}
	if len(elements) < 1 || len(elements) > maxBatch {
		return nil, invalid("mints", fmt.Sprintf("an array of %d items", len(elements)), fmt.Sprintf("must have 1 to %d", maxBatch))
	}
	mints := make([]string, len(elements))
	for i, element := range elements {
		if element[0] != '"' || json.Unmarshal(element, &mints[i]) != nil {
			return nil, invalid(fmt.Sprintf("mints[%d]", i), string(element), "must be a string")
		}
	}
	return mints, nil
}
