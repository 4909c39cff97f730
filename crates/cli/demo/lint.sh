# Checks src/theme.txt.
colour=$(sed -n 's/^colour = //p' src/theme.txt)
case $colour in
navy | teal | maroon) echo "ok: $colour is a colour we use" ;;
*)
  line=$(grep -n '^colour = ' src/theme.txt | cut -d: -f1)
  echo "src/theme.txt:${line:-1}: \"$colour\" is not a colour we use" >&2
  echo "hint: make it navy, teal or maroon, and save; this check runs again by itself" >&2
  exit 1
  ;;
esac
