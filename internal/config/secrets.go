package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/knadh/koanf/v2"
)

// maxSecretBytes bounds what is read of a secret's file: one that is larger is another file.
const maxSecretBytes = 4096

// readSecrets puts the contents of the files that `_file` keys name into the keys that they stand
// for. The error joins all that is wrong. It names files and never tells what is in them.
func readSecrets(k *koanf.Koanf, list []key) error {
	var problems []error
	for _, leaf := range list {
		if !leaf.secret {
			continue
		}
		file := leaf.file().path
		path := k.String(file)
		k.Delete(file)
		if path == "" {
			continue
		}
		if k.String(leaf.path) != "" {
			problems = append(problems, fmt.Errorf("%s and %s: only one can be set", leaf.path, file))
			continue
		}
		value, err := readSecret(path)
		if err == nil {
			err = k.Set(leaf.path, value)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", file, err))
		}
	}
	return errors.Join(problems...)
}

// readSecret returns what a file holds, without the end of its line.
func readSecret(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxSecretBytes+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxSecretBytes {
		return "", fmt.Errorf("%s holds more than %d bytes, must hold a secret", path, maxSecretBytes)
	}
	value := strings.TrimRight(string(text), "\r\n")
	if value == "" {
		return "", fmt.Errorf("%s is empty, must hold a secret", path)
	}
	return value, nil
}
