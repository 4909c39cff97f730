//! The layout of the screen. It depends only on the size, so that nothing moves while reading.

use ratatui::layout::Rect;

/// From this width on, the log is beside the list.
const WIDE: u16 = 110;
const MIN_LIST_WIDTH: u16 = 60;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Areas {
    pub(crate) header: Rect,
    /// Empty unless the session has a problem.
    pub(crate) banner: Rect,
    /// With the row of column titles.
    pub(crate) list: Rect,
    /// With its title.
    pub(crate) details: Rect,
    pub(crate) log: Rect,
    pub(crate) footer: Rect,
}

/// A screen with fewer rows has no banner.
const MIN_ROWS_WITH_BANNER: u16 = 6;

/// Computes the areas. Those without rows are not drawn. `whole` gives all rows to the log; `has_banner` takes one row.
pub(crate) fn areas(columns: u16, rows: u16, whole: bool, has_banner: bool) -> Areas {
    let strip = |y: u16, height: u16| Rect::new(0, y, columns, height);
    if rows < 4 {
        return Areas { list: strip(0, rows), ..Areas::default() };
    }
    let (header, footer) = (strip(0, 1), strip(rows - 1, 1));
    let banner = strip(1, u16::from(has_banner && rows >= MIN_ROWS_WITH_BANNER));
    let body = strip(1 + banner.height, rows - 2 - banner.height);
    if whole {
        return Areas { header, banner, footer, log: body, ..Areas::default() };
    }
    if columns >= WIDE {
        let left = MIN_LIST_WIDTH.max(columns * 2 / 5);
        let details = 9.min(body.height / 3);
        let right = |y: u16, height: u16| Rect::new(left + 1, y, columns - left - 1, height);
        return Areas {
            header,
            banner,
            footer,
            list: Rect { width: left, ..body },
            details: right(body.y, details),
            log: right(body.y + details, body.height - details),
        };
    }
    let list = if body.height < 7 { body.height } else { (body.height * 2 / 5).max(4) };
    let details = if body.height < 14 { 0 } else { body.height / 5 + 1 };
    Areas {
        header,
        banner,
        footer,
        list: strip(body.y, list),
        details: strip(body.y + list, details),
        log: strip(body.y + list + details, body.height - list - details),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_on_screen_and_disjoint() {
        for columns in 0..200 {
            for rows in 0..70 {
                for (whole, has_banner) in [(false, false), (true, false), (false, true), (true, true)] {
                    let it = areas(columns, rows, whole, has_banner);
                    let screen = Rect::new(0, 0, columns, rows);
                    let all = [it.header, it.banner, it.list, it.details, it.log, it.footer];
                    for (at, one) in all.iter().enumerate().filter(|(_, one)| !one.is_empty()) {
                        assert_eq!(one.intersection(screen), *one, "{columns}×{rows}: {it:?}");
                        let others = all.iter().skip(at + 1).filter(|other| !other.is_empty());
                        for other in others {
                            assert!(!one.intersects(*other), "{columns}×{rows}: {it:?}");
                        }
                    }
                }
            }
        }
    }
}
