// codegen generates the CustomResourceDefinitions of the package api from its source: one file per kind in the given folder.
package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

const (
	group   = "dynamo.example.com"
	version = "v1alpha1"
)

type object = map[string]any

type source struct {
	types map[string]*ast.TypeSpec
	docs  map[string]note
}

// note is a doc comment: its text, and its markers.
type note struct {
	words string
	rules map[string]string
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: codegen FOLDER-OF-TYPES FOLDER-OF-DEFINITIONS")
	}
	src := read(os.Args[1])
	if err := os.MkdirAll(os.Args[2], 0o755); err != nil {
		log.Fatal(err)
	}
	names := make([]string, 0, len(src.types))
	for name := range src.types {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if plural := src.docs[name].rules["kind"]; plural != "" {
			write(filepath.Join(os.Args[2], plural+".json"), src.definition(name, plural))
		}
	}
}

func read(folder string) source {
	packages, err := parser.ParseDir(token.NewFileSet(), folder, nil, parser.ParseComments)
	if err != nil {
		log.Fatal(err)
	}
	src := source{map[string]*ast.TypeSpec{}, map[string]note{}}
	for _, file := range packages["api"].Files {
		for _, declared := range file.Decls {
			types, ok := declared.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range types.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					src.types[spec.Name.Name] = spec
					src.docs[spec.Name.Name] = noteOf(types.Doc)
				}
			}
		}
	}
	return src
}

func noteOf(comment *ast.CommentGroup) note {
	found := note{rules: map[string]string{}}
	for _, line := range strings.Split(comment.Text(), "\n") {
		if rule, ok := strings.CutPrefix(line, "+"); ok {
			key, value, _ := strings.Cut(rule, "=")
			found.rules[key] = value
		} else if line != "" {
			found.words = strings.TrimSpace(found.words + " " + line)
		}
	}
	return found
}

// write leaves an unchanged file alone, so that nothing that watches it reacts.
func write(path string, definition object) {
	text, err := json.Marshal(definition)
	if err != nil {
		log.Fatal(err)
	}
	if old, err := os.ReadFile(path); err == nil && string(old) == string(text) {
		return
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		log.Fatal(err)
	}
	log.Printf("%s: %d kB", path, len(text)/1024)
}

func (src source) definition(kind, plural string) object {
	schema := src.schema(kind)
	schema["properties"].(object)["metadata"] = object{"type": "object"}
	schema["required"] = []string{"spec"}
	names := object{"kind": kind, "listKind": kind + "List", "plural": plural, "singular": strings.ToLower(kind)}
	return object{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   object{"name": plural + "." + group},
		"spec": object{
			"group": group,
			"names": names,
			"scope": "Namespaced",
			"versions": []object{{
				"name": version, "served": true, "storage": true,
				"schema":       object{"openAPIV3Schema": schema},
				"subresources": object{"status": object{}},
			}},
		},
	}
}

func (src source) schema(name string) object {
	declared, ok := src.types[name]
	if !ok {
		log.Fatalf("there is no type %s", name)
	}
	fields, ok := declared.Type.(*ast.StructType)
	if !ok {
		return object{"x-kubernetes-int-or-string": true, "anyOf": []object{{"type": "integer"}, {"type": "string"}}}
	}
	properties, required := object{}, []string{}
	src.fields(fields, properties, &required)
	made := object{"type": "object", "properties": properties, "description": src.docs[name].words}
	if len(required) > 0 {
		made["required"] = required
	}
	return made
}

func (src source) fields(fields *ast.StructType, properties object, required *[]string) {
	for _, field := range fields.Fields.List {
		tag, _ := strconv.Unquote(field.Tag.Value)
		name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if name == "" {
			inlined := field.Type.(*ast.Ident).Name
			src.fields(src.types[inlined].Type.(*ast.StructType), properties, required)
			continue
		}
		properties[name] = src.property(field)
		if options != "omitempty" {
			*required = append(*required, name)
		}
	}
}

func (src source) property(field *ast.Field) object {
	note := noteOf(field.Doc)
	made := src.typed(field.Type)
	if name := note.rules["schema"]; name != "" {
		made = src.schema(name)
	}
	if note.words != "" {
		made["description"] = note.words
	}
	for _, key := range []string{"minimum", "maximum", "default"} {
		if rule, ok := note.rules[key]; ok {
			made[key] = value(rule)
		}
	}
	if allowed, ok := note.rules["enum"]; ok {
		made["enum"] = strings.Split(allowed, ";")
	}
	return made
}

func value(text string) any {
	if number, err := strconv.Atoi(text); err == nil {
		return number
	}
	return text
}

func (src source) typed(expression ast.Expr) object {
	switch it := expression.(type) {
	case *ast.StarExpr:
		return src.typed(it.X)
	case *ast.ArrayType:
		return object{"type": "array", "items": src.typed(it.Elt)}
	case *ast.MapType:
		if name, ok := it.Value.(*ast.Ident); ok && name.Name == "any" {
			return object{"type": "object"} // its rule names a schema
		}
		return object{"type": "object", "additionalProperties": src.typed(it.Value)}
	case *ast.Ident:
		switch it.Name {
		case "string":
			return object{"type": "string"}
		case "bool":
			return object{"type": "boolean"}
		case "int":
			return object{"type": "integer"}
		}
		return src.schema(it.Name)
	}
	log.Fatalf("cannot describe %T", expression)
	return nil
}
