package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/knadh/koanf/v2"
)

// maxSecretBytes bounds the size of a secret's file: a larger file is not the one that was meant.
const maxSecretBytes = 4096

// readSecrets reads the files that the `_file` keys name, and sets the secrets to their contents.
// Its error joins all problems. It names the files and never contains a secret.
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

// readSecret returns the content of a file without the line ends behind it.
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
