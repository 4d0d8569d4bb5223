package svg

import (
	"bytes"
	"encoding/xml"
	"maps"
	"strings"
)

const (
	maxEntities    = 64
	maxEntityValue = 512
	// maxEntityName bounds the bytes of a name. It is less than entityWindow: bindEntities would
	// not count a longer name.
	maxEntityName = 100
	// entityWindow is how far after an & its semicolon is looked for.
	entityWindow = 128
)

// entities returns the entities that a document type declares, as name and text. Drawing programs
// declare their namespaces as entities. An entity that refers to another one, to a file or to
// markup is refused: a few lines of entities made of others expand to gigabytes, and no logo needs
// one.
func entities(doctype string) (map[string]string, error) {
	found := map[string]string{}
	parts := strings.Split(doctype, "<!ENTITY")
	for _, part := range parts[1:] {
		fields := strings.TrimLeft(part, spaces)
		i := strings.IndexAny(fields, spaces)
		if len(fields) == len(part) || i <= 0 {
			return nil, broken("an entity without a name")
		}
		name, rest := fields[:i], strings.TrimLeft(fields[i:], spaces)
		if rest == "" || rest[0] != '"' && rest[0] != '\'' {
			return nil, broken("an entity that is no plain text")
		}
		value, after, closed := strings.Cut(rest[1:], rest[:1])
		switch {
		case !closed || !strings.HasPrefix(strings.TrimLeft(after, spaces), ">"):
			return nil, broken("an entity that is no plain text")
		case strings.ContainsAny(value, "&%<") || strings.ContainsAny(name, "%&;<>\"'"):
			return nil, broken("an entity made of others")
		case len(value) > maxEntityValue || len(found) >= maxEntities:
			return nil, bounds("entities of more than %d bytes, or more than %d of them", maxEntityValue, maxEntities)
		}
		if _, ok := found[name]; !ok { // the first declaration counts
			found[name] = value
		}
	}
	return found, nil
}

// bindEntities gives the decoder the entities of a document type. Before that it counts the bytes
// that they will add to rest, the text after the document type, and refuses more than maxExpansion.
func bindEntities(decoder *xml.Decoder, doctype string, rest []byte) error {
	if !strings.Contains(doctype, "<!ENTITY") {
		return nil
	}
	found, err := entities(doctype)
	if err != nil {
		return err
	}
	added := 0
	for {
		i := bytes.IndexByte(rest, '&')
		if i < 0 {
			break
		}
		rest = rest[i+1:]
		if end := bytes.IndexByte(rest[:min(len(rest), entityWindow)], ';'); end > 0 {
			added += len(found[string(rest[:end])])
		}
	}
	if added > maxExpansion {
		return bounds("entities that add %d bytes", added)
	}
	known := maps.Clone(xml.HTMLEntity)
	maps.Copy(known, found)
	for name := range known {
		if len(name) > maxEntityName {
			return bounds("an entity's name of %d bytes", len(name))
		}
	}
	decoder.Entity = known
	return nil
}
