package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/mintlake/mintlake/internal/terminal"
)

const (
	// maxTold bounds the JSON of a tool's answer in bytes: some ten thousand tokens of a model.
	maxTold = 24 << 10
	// maxText bounds a text in characters. Addresses and signatures have 88 at most.
	maxText = 300
	// leastText, in characters, and leastRows bound the texts and the lists of an answer that is
	// too long otherwise. Addresses and signatures are shorter than leastText, so they stay whole.
	leastText, leastRows = 90, 5
)

// short says what is left out of an answer of the API.
type short struct {
	// drop has the names of members to leave out, wherever they are.
	drop []string
	// rows bounds lists; 0 means no bound. Beside a list NAME that was cut, the member
	// NAME_left_off has the number of rows that were left off.
	rows int
	// texts bounds texts in characters; 0 means no bound.
	texts int
}

// cursors are members of an answer itself that stay as they came, because the model sends them
// back.
var cursors = []string{"next", "next_cursor"}

// shorten leaves out of a JSON text what s says, members that are null, and characters that cannot
// be seen: with such characters, a creator of a token could speak to a model without its user
// seeing it.
func shorten(text []byte, s short) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("the answer cannot be read (%w): is this a token API of Mintlake?", err)
	}
	kept := s.value(value)
	if answer, is := value.(map[string]any); is {
		for _, name := range cursors {
			if cursor, is := answer[name].(string); is {
				kept.(map[string]any)[name] = cursor
			}
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(kept); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func (s short) value(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return s.members(v)
	case []any:
		for i := range v {
			v[i] = s.value(v[i])
		}
	case string:
		return s.text(v)
	}
	return value
}

func (s short) members(members map[string]any) map[string]any {
	kept := make(map[string]any, len(members))
	for name, value := range members {
		if value == nil || slices.Contains(s.drop, name) {
			continue
		}
		if rows, is := value.([]any); is && s.rows > 0 && len(rows) > s.rows {
			kept[name+"_left_off"] = len(rows) - s.rows
			value = rows[:s.rows]
		}
		kept[terminal.Clean(name)] = s.value(value)
	}
	return kept
}

func (s short) text(text string) string {
	text = terminal.Clean(text)
	if s.texts == 0 || utf8.RuneCountInString(text) <= s.texts {
		return text
	}
	return string([]rune(text)[:s.texts]) + "…"
}

// page sets the answer of an operation with rows and a cursor. It calls rows with limit, or with
// fallback if limit is 0, but never with more than most. While the answer has more than maxTold
// bytes, it asks again for half as many rows. So the answer's cursor goes on behind its last row.
func (t *told) page(limit, fallback, most int32, drop []string, rows func(limit *int32) ([]byte, error)) (*told, error) {
	if limit <= 0 {
		limit = fallback
	}
	limit = min(limit, most)
	for asked := limit; ; limit /= 2 {
		text, err := rows(&limit)
		if err != nil {
			return nil, err
		}
		if t.body, err = shorten(text, short{drop: drop, texts: maxText}); err != nil {
			return nil, err
		}
		if len(t.body) <= maxTold || limit == 1 {
			if limit < asked {
				t.notes = append(t.notes, map[string]any{"limit": limit, "asked": asked, "why": "an answer has at most 24 KB: go on with next, or with other bounds"})
			}
			return t, nil
		}
	}
}

// numbered sets the answer of an operation whose pages have numbers and limit rows. While the
// answer has more than maxTold bytes, half of its rows are left off: the page of a smaller limit
// would have other rows.
func (t *told) numbered(limit int32, drop []string, text []byte, err error) (*told, error) {
	if err != nil {
		return nil, err
	}
	for rows := int(limit); ; rows /= 2 {
		if t.body, err = shorten(text, short{drop: drop, rows: rows, texts: maxText}); err != nil {
			return nil, err
		}
		if len(t.body) <= maxTold || rows == 1 {
			if rows < int(limit) {
				t.notes = append(t.notes, map[string]any{"rows": rows, "limit": limit, "why": "an answer has at most 24 KB: for all rows ask for pages of a smaller limit, from page 1 on"})
			}
			return t, nil
		}
	}
}

// whole sets the answer of an operation without pages. If the answer has more than maxTold bytes,
// its texts are cut shorter, then its lists.
func (t *told) whole(s short, text []byte, err error) (*told, error) {
	if err != nil {
		return nil, err
	}
	for _, s := range []short{{s.drop, s.rows, maxText}, {s.drop, s.rows, leastText}, {s.drop, leastRows, leastText}} {
		if t.body, err = shorten(text, s); err != nil {
			return nil, err
		}
		if len(t.body) <= maxTold {
			break
		}
	}
	return t, nil
}
