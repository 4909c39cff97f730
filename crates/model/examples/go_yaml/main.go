// Writes what Tilt's YAML reader makes of every YAML file below some folders: one line of JSON for each file, with its
// path and either its documents or the error. Floats are written as their bits.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
)

type file struct {
	Path      string `json:"path"`
	Documents []any  `json:"documents"`
	Error     string `json:"error,omitempty"`
}

func main() {
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	for _, folder := range os.Args[1:] {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			extension := filepath.Ext(path)
			if !entry.Type().IsRegular() || extension != ".yaml" && extension != ".yml" {
				return nil
			}
			return encoder.Encode(read(path))
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// Reads a file as read_yaml_stream() of Tilt does.
func read(path string) file {
	result := file{Path: path, Documents: []any{}}
	content, err := os.ReadFile(path)
	if err != nil {
		result.Error = err.Error()
		return result
	}
	reader := k8syaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return result
		}
		var document any
		if err == nil {
			document, err = decode(text)
		}
		if err != nil {
			result.Error = err.Error()
			return result
		}
		if document != nil {
			result.Documents = append(result.Documents, withBits(document))
		}
	}
}

func decode(text []byte) (document any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	err = k8syaml.Unmarshal(text, &document)
	return document, err
}

func withBits(value any) any {
	switch value := value.(type) {
	case float64:
		return fmt.Sprintf("float %016x", math.Float64bits(value))
	case []any:
		for index := range value {
			value[index] = withBits(value[index])
		}
	case map[string]any:
		for key := range value {
			value[key] = withBits(value[key])
		}
	}
	return value
}
