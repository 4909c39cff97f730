# Builds the site from src/ into out/. Files appear at once: written aside, then renamed.
set -eu
greeting=$(cat src/greeting.txt)
theme=$(sed -n 's/^colour = //p' src/theme.txt)
mkdir -p out/site out/api
echo "building with greeting \"$greeting\""
printf '<!doctype html><title>demo</title><body style="font: 2em sans-serif; color: %s"><h1>%s</h1></body>\n' "$theme" "$greeting" >out/site/.new
mv out/site/.new out/site/index.html
printf '{"greeting": "%s"}\n' "$greeting" >out/api/.new
mv out/api/.new out/api/greeting.json
