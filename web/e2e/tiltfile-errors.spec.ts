import { violations } from "./axe";
import { expect, row, test } from "./lilt";

test.describe("unusual names and lines", () => {
  const NAME = "<img src=x onerror=alert(1)>";
  test.use({
    tiltfile: `
local_resource('${NAME}', cmd='echo "<script>alert(2)</script> <b>bold</b>"', labels=['odd'])
local_resource('שלום-🎉', cmd='echo "‮evil right-to-left"; echo "👩‍👩‍👧‍👦 عالم"; head -c 1048576 /dev/zero | tr "\\\\0" m; echo; echo last')
`,
  });

  test("are shown as text everywhere", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/`);
    await expect(row(page, NAME)).toContainText("Up to date");
    await expect(row(page, NAME).getByRole("link", { name: NAME })).toBeVisible();
    expect(await page.locator("main img, main script, main b").count()).toBe(0);
    await row(page, NAME).getByRole("link", { name: NAME }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(NAME);
    await expect(page.getByRole("log")).toContainText("<script>alert(2)</script> <b>bold</b>");
    await page.reload();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(NAME);
    await page.getByRole("link", { name: /שלום-🎉/ }).click();
    const log = page.getByRole("log");
    await expect(log).toContainText("last");
    await expect(log).toContainText("👩‍👩‍👧‍👦 عالم");
    await expect(log).toContainText("1,048,576 characters");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("onerror");
    await expect(page.getByRole("dialog").getByRole("option").first()).toContainText(NAME);
  });
});

test("shows a failed Tiltfile reload in the header, with a link to the error", async ({ lilt, page }) => {
  const good = lilt.read("Tiltfile") ?? "";
  await page.goto(`${lilt.address}/`);
  await expect(row(page, "hello")).toContainText("Up to date");
  const status = page.locator("[data-connection]");
  await expect(status).toHaveText("Live");
  lilt.write("Tiltfile", `${good}\nlocal_resource('x', nonsense=1)\n`);
  await expect(status).toHaveText("Tiltfile error");
  await expect(page.getByRole("button", { name: /2\s*Failing/ })).toBeVisible();
  await expect(row(page, "(Tiltfile)")).toContainText("Update failed");
  expect(await violations(page, "the header of a failed Tiltfile")).toEqual([]);
  await status.getByRole("link").click();
  await expect(page.locator(".messages .error pre")).toContainText("nonsense");
  lilt.write("Tiltfile", good);
  await expect(status).toHaveText("Live");
});

test.describe("a Tiltfile with an error", () => {
  test.use({
    tiltfile: "local_resource('good', cmd='true')\nlocal_resource('bad', cmd=['a'], nonsense=1)\n",
  });

  test("is shown as in the terminal, with location, cause, excerpt and hint", async ({ lilt, page }) => {
    await page.goto(`${lilt.address}/`);
    const tiltfile = row(page, "(Tiltfile)");
    await expect(tiltfile).toContainText("Update failed");
    await expect(tiltfile.locator(".message.error")).toContainText("Tiltfile:2:");
    await tiltfile.getByRole("link", { name: "(Tiltfile)" }).click();
    const error = page.locator(".messages .error pre");
    await expect(error).toContainText("nonsense");
    await expect(error).toContainText("local_resource('bad', cmd=['a'], nonsense=1)");
    await expect(error).toContainText("^");
    const shown = await error.innerText();
    // The same text as in the terminal.
    for (const line of shown.split("\n").filter((line) => line.trim() !== "")) {
      expect(lilt.output).toContain(line.trim());
    }
    expect(await violations(page, "a failed Tiltfile")).toEqual([]);
    lilt.write("Tiltfile", "local_resource('good', cmd='true')\n");
    await expect(error).toHaveCount(0);
  });
});
