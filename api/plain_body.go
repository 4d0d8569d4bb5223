package api

import (
	"strconv"
	"strings"
	"time"
)

// plainBody reads JSON in the form that clients usually write: strings in ASCII without escapes,
// whole numbers. Any other body is left to encoding/json. That package goes through a body of 500
// mints three times, which took as long as finding all the mints. A fuzz test compares the results
// of both.
type plainBody struct {
	rest string
}

// space skips white space.
func (b *plainBody) space() { b.rest = strings.TrimLeft(b.rest, " \t\r\n") }

// take skips white space, and then c. It returns false if c does not come next.
func (b *plainBody) take(c byte) bool {
	b.space()
	if b.rest == "" || b.rest[0] != c {
		return false
	}
	b.rest = b.rest[1:]
	return true
}

// text reads a string.
func (b *plainBody) text() (string, bool) {
	if !b.take('"') {
		return "", false
	}
	for i := range len(b.rest) {
		switch c := b.rest[i]; {
		case c == '"':
			text := b.rest[:i]
			b.rest = b.rest[i+1:]
			return text, true
		case c < ' ' || c > '~' || c == '\\':
			return "", false
		}
	}
	return "", false
}

// texts reads an array of 1 to most strings.
func (b *plainBody) texts(most int) ([]string, bool) {
	if !b.take('[') {
		return nil, false
	}
	texts := make([]string, 0, most)
	for {
		text, ok := b.text()
		if !ok || len(texts) == most {
			return nil, false
		}
		texts = append(texts, text)
		if !b.take(',') {
			return texts, b.take(']')
		}
	}
}

// word reads a number, true or false: everything up to the next comma, brace or white space.
func (b *plainBody) word() string {
	b.space()
	end := strings.IndexAny(b.rest, ",} \t\r\n")
	if end < 0 {
		end = len(b.rest)
	}
	word := b.rest[:end]
	b.rest = b.rest[end:]
	return word
}

// parsePlainBatch reads a plain body, in which no name comes twice and no name is unknown, as
// parseAnyBatch does. It returns false for any other body. The mints share the body's memory.
func parsePlainBatch(body string, maxWait time.Duration) (request batchRequest, ok bool) {
	b := plainBody{body}
	var hasStates, hasWait bool
	for ok = b.take('{'); ok; ok = b.take(',') {
		name, _ := b.text()
		if !b.take(':') {
			return request, false
		}
		switch {
		case name == "mints" && request.mints == nil:
			request.mints, ok = b.texts(maxBatch)
		case name == "states" && !hasStates:
			hasStates = true
			word := b.word()
			request.states, ok = word == "true", word == "true" || word == "false"
		case name == "wait_ms" && !hasWait:
			hasWait = true
			word := b.word()
			ms, err := strconv.ParseUint(word, 10, 16)
			request.wait = time.Duration(ms) * time.Millisecond
			// Numbers in JSON have no leading zeros.
			ok = err == nil && request.wait <= maxWait && (word == "0" || word[0] != '0')
		default:
			ok = false
		}
		if !ok {
			return request, false
		}
	}
	ok = request.mints != nil && b.take('}')
	b.space()
	return request, ok && b.rest == ""
}
