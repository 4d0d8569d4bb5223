package svg

import (
	"encoding/xml"
	"slices"
	"strings"
)

const (
	xlinkNamespace = "http://www.w3.org/1999/xlink"
	xmlNamespace   = "http://www.w3.org/XML/1998/namespace"
)

// attributesOf adds the allowed attributes of found to made, in their cleaned form. If a name
// occurs twice, the first attribute counts.
func (p *parser) attributesOf(made *node, found []xml.Attr) error {
	for _, given := range found {
		name, value, err := p.attribute(made.name, given)
		if err != nil {
			return err
		}
		if name != "" && !slices.ContainsFunc(made.attributes, func(a attribute) bool { return a.name == name }) {
			made.attributes = append(made.attributes, attribute{name, value})
		}
	}
	return nil
}

// attribute returns an attribute's name, as it is written, and its cleaned value. The name is empty
// if the attribute is left out.
func (p *parser) attribute(element string, given xml.Attr) (name, value string, err error) {
	switch space, local := given.Name.Space, given.Name.Local; {
	case local == "href" && (space == "" || space == xlinkNamespace || space == "xlink"):
		value, err := p.reference(element, given.Value)
		if value == "" || err != nil {
			return "", "", err
		}
		if space != "" {
			local = "xlink:href"
		}
		return local, value, nil
	case (space == xmlNamespace || space == "xml") && local == "space":
		if given.Value == "preserve" || given.Value == "default" {
			return "xml:space", given.Value, nil
		}
		return "", "", nil
	case space != "" || !attributes[local]:
		return "", "", nil
	case local == "id":
		if !isID(given.Value) {
			return "", "", nil
		}
	case local == "style":
		return local, cleanDeclarations(given.Value).text, nil
	case local == "attributeName":
		// Only drawing attributes may be animated, never a link, a style or a handler.
		if !presentation[given.Value] && !geometry[given.Value] {
			return "", "", nil
		}
	case animationValue[local] && strings.Contains(strings.ToLower(given.Value), "url"):
		// An animation must not set a reference: weigh would not count it at the animated element.
		return "", "", nil
	case local != "class" && strings.ContainsAny(given.Value, "(\\"):
		// Only a value with one of these characters can refer to something: in url(…), or behind a
		// CSS escape.
		text, _, ok := cleanValue(given.Value)
		if !ok {
			return "", "", nil
		}
		return local, text, nil
	}
	return given.Name.Local, given.Value, nil
}

// reference returns the cleaned target of a link; empty if it is left out. It keeps links to a part
// of the same document, and pictures that are embedded as a data URI.
func (p *parser) reference(element, value string) (string, error) {
	value = strings.Trim(value, spaces)
	switch {
	case strings.HasPrefix(value, "#") && refers[element]:
		if isID(value[1:]) {
			return value, nil
		}
	case element == "image" && len(value) > 5 && strings.EqualFold(value[:5], "data:"):
		return p.embedded(value[5:])
	}
	return "", nil
}

// isID reports whether a text can be an id, also in url(#id) without quotes.
func isID(text string) bool {
	return text != "" && len(text) <= maxID && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("\"'()<>\\&#;,", r)
	})
}
