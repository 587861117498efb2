//! FIX settings files: any text is parsed, or refused with valid line numbers.

use tickwire_fix_session::settings::Settings;

/// Parses text as a settings file.
pub fn fix_settings(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = text.lines().count() as u32;
    match Settings::parse(&text) {
        Ok(settings) => {
            assert!(!settings.sessions.is_empty());
            assert!(settings.warnings.iter().all(|finding| finding.line <= lines));
        }
        Err(errors) => {
            assert!(!errors.0.is_empty());
            assert!(errors.0.iter().all(|finding| finding.line <= lines));
        }
    }
}
